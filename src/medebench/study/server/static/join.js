// The secret of an invitation stands behind the # of its address, which browsers do not send; it goes to the
// server once, in the body of the sign-in, and out of the address bar.
import "./theme.js";
import { $ } from "./widgets.js";
import { call, NoConnection, Refusal } from "./api.js";

let token = "";

const say = (title, words, again = false) => {
  $("join-title").textContent = title;
  $("join-words").textContent = words;
  $("join-again").hidden = !again;
  $("join-wait").hidden = true;
};

const signIn = async () => {
  $("join-again").hidden = true;
  $("join-wait").hidden = false;
  try {
    const { role } = await call("POST", "/api/sign-in", { token });
    location.replace(role === "admin" ? "/admin" : "/");
  } catch (error) {
    if (error instanceof NoConnection) say("No connection", "The server cannot be reached. Check your network and try again.", true);
    else if (error instanceof Refusal && error.status === 401) say("This link does not work", "It may have been replaced by a newer one or withdrawn. Ask the people who run the study for a new link.");
    else if (error instanceof Refusal && error.status === 429) say("Too many attempts", `Please wait ${error.wait ? `${error.wait} seconds` : "a minute"}, then try again.`, true);
    else say("That did not work", error.message, true);
  }
};

const begin = () => {
  token = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  if (token) return signIn();
  return say("The link is not complete", "Open the whole invitation link, with everything after the # sign.");
};

$("join-again").addEventListener("click", signIn);
// Another link in the same tab changes no more than what is behind the #.
addEventListener("hashchange", () => { if (location.hash) begin(); });
begin();
