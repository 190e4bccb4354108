// Talking to the server: JSON both ways, and always the token of the session that the page was made for: if
// somebody else signs in in another tab, the server refuses instead of answering for them.

export class Refusal extends Error {
  constructor(status, body, wait) {
    super(body?.problem || `The server answered ${status}.`);
    this.status = status;
    this.body = body;
    this.wait = wait;
  }
}
export class NoConnection extends Error {}

let csrf = "";
export const useToken = (token) => { csrf = token; };

export const call = async (method, path, body, { keepalive = false, token = csrf } = {}) => {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["Content-Type"] = "application/json";
  if (token) headers["X-Medebench-Token"] = token;
  let response;
  let answer = null;
  try {
    response = await fetch(path, {
      method, headers, keepalive, body: method === "GET" ? undefined : JSON.stringify(body ?? {}),
      credentials: "same-origin", cache: "no-store", redirect: "error", signal: AbortSignal.timeout(20000),
    });
    if (response.status !== 204) answer = await response.json();
  } catch (error) {
    // An answer that is no JSON comes from something between us and the server.
    if (!response || response.ok || response.status >= 500) throw new NoConnection(String(error));
  }
  if (!response.ok) throw new Refusal(response.status, answer, Number(response.headers.get("Retry-After")) || null);
  return answer;
};

export const get = (path) => call("GET", path);
// As whoever is signed in in this browser now.
export const getAsAnybody = (path) => call("GET", path, null, { token: "" });
export const isOtherSession = (error) => error instanceof Refusal && (error.status === 401 || error.status === 403);

// Also where the page came by plain http, for which browsers have no randomUUID.
export const newKey = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
};
