// For the people who run the study: who is how far, how well they agree, invitations, the end.
import { $, announce, clockTime, count, el, fill } from "./widgets.js";
import { call, get, isOtherSession, NoConnection, useToken } from "./api.js";
import { banner, noBanner } from "./banner.js";

const EVERY = 10_000;
let known = null;

const number = (value) => (value === null || value === undefined ? "–" : value.toFixed(2).replace("-", "−"));
const seconds = (value) => (value === null || value === undefined ? "–" : value < 90 ? `${Math.round(value)} s` : `${(value / 60).toFixed(1)} min`);
const day = (iso) => {
  const at = new Date(iso);
  const today = at.toDateString() === new Date().toDateString();
  return today ? clockTime(iso) : `${at.toLocaleDateString([], { day: "numeric", month: "short" })} ${clockTime(iso)}`;
};
const head = (...names) => el("thead", {}, el("tr", {}, names.map(([text, kind]) => el("th", { scope: "col", class: kind, text }))));
const empty = (columns, words) => el("tr", {}, el("td", { colspan: columns, class: "empty", text: words }));

// A question before something that cannot be taken back lightly.
const sure = (title, words, yes) => new Promise((resolve) => {
  const dialog = $("sure");
  $("sure-title").textContent = title;
  $("sure-words").textContent = words;
  $("sure-yes").textContent = yes;
  $("sure-yes").onclick = () => { dialog.onclose = null; dialog.close(); resolve(true); };
  $("sure-no").onclick = () => dialog.close();
  dialog.onclose = () => resolve(false);
  dialog.showModal();
  $("sure-no").focus();
});

const attempt = async (act) => {
  try {
    await act();
    noBanner("failed");
  } catch (error) {
    banner("failed", "That did not work", [error instanceof NoConnection ? "No connection to the server." : error.message], [["Close", () => noBanner("failed")]]);
  }
  await load();
};

const invite = async (person) => {
  if (person.invited && !(await sure(`New link for ${person.name}?`, "The link this person has now, and every browser signed in with it, stops working. Answers stay.", "Make a new link"))) return;
  await attempt(async () => {
    const { link } = await call("POST", `/api/admin/people/${encodeURIComponent(person.name)}/invite`);
    $("invitation-title").textContent = `Invitation for ${person.name}`;
    $("invitation-words").textContent = "Send this link to that person alone: whoever has it, answers in that name. It is shown only now; the server keeps no copy it could be read from.";
    $("invitation-link").value = link;
    $("invitation-copy").textContent = "Copy";
    $("invitation").showModal();
    $("invitation-link").select();
  });
};

const revoke = async (person) => {
  if (await sure(`Withdraw the invitation of ${person.name}?`, "The link stops working and open pages are signed out. Answers stay, and you can invite again.", "Withdraw")) {
    await attempt(() => call("POST", `/api/admin/people/${encodeURIComponent(person.name)}/revoke`));
  }
};

const close = async () => {
  const closing = !known.closed;
  const open = known.annotators.reduce((sum, one) => sum + one.tasks - one.done - one.skipped, 0);
  const words = closing
    ? `Answers that come later are refused.${open ? ` ${count(open, "case")} ${open === 1 ? "is" : "are"} not finished.` : ""} You can open it again.`
    : "Annotators can go on and change their answers.";
  if (await sure(closing ? "Close the study?" : "Open the study again?", words, closing ? "Close the study" : "Open again")) {
    await attempt(() => call("POST", closing ? "/api/admin/close" : "/api/admin/reopen"));
  }
};

const bar = ({ tasks, done, skipped, draft }) => {
  const share = (part) => `${(100 * part) / Math.max(tasks, 1)}%`;
  return el("span", { class: "bar", role: "img", "aria-label": `${done} ranked, ${skipped} skipped, ${draft} begun, of ${tasks}` },
    el("i", { class: "done", "--part": share(done) }), el("i", { class: "skipped", "--part": share(skipped) }), el("i", { class: "draft", "--part": share(draft) }));
};

const access = (one) => (one.revoked ? "withdrawn" : one.invited ? "invited" : "not invited");
const isFinished = (one) => one.tasks > 0 && one.done + one.skipped === one.tasks;
const status = (one) => (!isFinished(one) ? access(one) : one.revoked ? "finished, withdrawn" : "finished");

// A number, in red where the results will call it in doubt; then with why.
const judged = (text, doubt) => el("span", doubt ? { class: "amiss", title: `In doubt: ${doubt}`, text } : { text }, doubt ? el("span", { class: "sr", text: ` (in doubt: ${doubt})` }) : null);
const cell = (label, ...children) => el("td", { class: "n", "data-label": label }, ...children);

const COLUMNS = ["Ranked", "Skipped", "Begun", "Median time", "Controls failed", "Repeats shown"];

const person = (one) => {
  const { passed, failed, open } = one.controls;
  return el("tr", {},
    el("th", { scope: "row" }, el("span", { dir: "auto", text: one.name }), el("small", { class: one.invited || isFinished(one) ? "" : "wanting", text: status(one) })),
    el("td", { class: "progress" }, bar(one), el("span", { text: `${one.done + one.skipped} of ${one.tasks}` })),
    cell(COLUMNS[0], one.done), cell(COLUMNS[1], one.skipped), cell(COLUMNS[2], one.draft),
    cell(COLUMNS[3], judged(seconds(one.medianSeconds), one.doubts.seconds)),
    cell(COLUMNS[4], judged(passed + failed ? `${failed} of ${passed + failed}` : "–", one.doubts.controls), open ? el("small", { text: `${open} to come` }) : null),
    cell(COLUMNS[5], `${one.repeats.done} of ${one.repeats.of}`),
    el("td", { "data-label": "Last saved", text: one.lastSaved ? day(one.lastSaved) : "–" }),
    el("td", { class: "acts" },
      el("button", { type: "button", text: one.invited && !one.revoked ? "New link" : "Invite", "aria-label": `Invite ${one.name}`, "data-key": `invite ${one.name}`, onclick: () => invite(one) }),
      one.invited && !one.revoked ? el("button", { type: "button", class: "quiet", text: "Withdraw", "aria-label": `Withdraw the invitation of ${one.name}`, "data-key": `revoke ${one.name}`, onclick: () => revoke(one) }) : null));
};

const fact = (name, value) => el("div", {}, el("dt", { text: name }), el("dd", { text: value }));

const draw = (data) => {
  const people = data.annotators;
  const total = (key) => people.reduce((sum, one) => sum + one[key], 0);
  $("title").textContent = data.title;
  document.title = `${data.title} · study`;
  $("state").textContent = data.closed ? `closed ${day(data.closed)}` : "open";
  $("state").className = data.closed ? "closed" : "open";
  $("close-study").hidden = false;
  $("close-study").textContent = data.closed ? "Open again …" : "Close the study …";
  const tasks = total("tasks");
  const finished = total("done") + total("skipped");
  const failed = people.reduce((sum, one) => sum + one.controls.failed, 0);
  const checked = people.reduce((sum, one) => sum + one.controls.failed + one.controls.passed, 0);
  fill($("facts"), fact("Annotators", people.length), fact("Finished", `${finished} of ${tasks}${tasks ? ` (${Math.floor((100 * finished) / tasks)} %)` : ""}`),
    fact("Skipped", total("skipped")), fact("Controls failed", checked ? `${failed} of ${checked}` : "none seen yet"));
  fill($("people"), head(["Annotator"], ["Progress"], ...COLUMNS.map((name) => [name, "n"]), ["Last saved"], ["", "acts"]),
    el("tbody", {}, people.map(person)));
  fill($("agreement"), head(["Dimension"], ["Spearman", "n"], ["Kendall τ-b", "n"], ["Krippendorff α", "n"], ["Cases", "n"], [""]),
    el("tbody", {}, data.dimensions.map(({ key, name }) => {
      const one = data.agreement[key] ?? { cases: 0, reason: "not computed" };
      return el("tr", {}, el("th", { scope: "row", text: name }), el("td", { class: "n", text: number(one.spearman) }), el("td", { class: "n", text: number(one.kendall) }),
        el("td", { class: "n", text: number(one.alpha) }), el("td", { class: "n", text: one.cases }), el("td", { class: "why", text: one.reason }));
    })));
  fill($("skips"), head(["Annotator"], ["Case", "n"], ["Its id"], ["Reason"]),
    el("tbody", {}, data.skips.length ? data.skips.map((skip) => el("tr", {}, el("th", { scope: "row", dir: "auto", text: skip.annotator }), el("td", { class: "n", text: skip.number ?? "Trial" }), el("td", { text: skip.case }), el("td", { class: "reason", dir: "auto", text: skip.reason }))) : empty(4, "No case was skipped.")));
};

const load = async () => {
  try {
    const data = await get("/api/admin");
    useToken(data.csrf);
    // A table that is drawn anew under somebody's fingers loses the focus.
    const focused = document.activeElement?.dataset?.key;
    if (JSON.stringify(data) !== JSON.stringify(known)) {
      known = data;
      draw(data);
      if (focused) document.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    }
    $("fresh").textContent = `as of ${new Date().toLocaleTimeString()}`;
    noBanner("offline");
  } catch (error) {
    if (isOtherSession(error)) { location.replace("/"); return; }
    banner("offline", error instanceof NoConnection ? "No connection to the server; trying again" : error.message);
  }
};

$("close-study").addEventListener("click", close);
$("sign-out").addEventListener("click", async () => {
  try {
    await call("POST", "/api/sign-out");
  } catch (error) {
    if (!isOtherSession(error)) {
      banner("failed", `You are still signed in: ${error instanceof NoConnection ? "no connection to the server" : error.message}`, [], [["Close", () => noBanner("failed")]]);
      return;
    }
  }
  location.replace("/");
});
$("invitation-done").addEventListener("click", () => $("invitation").close());
$("invitation").addEventListener("close", () => { $("invitation-link").value = ""; });
$("invitation-copy").addEventListener("click", async () => {
  $("invitation-link").select();
  try {
    await navigator.clipboard.writeText($("invitation-link").value);
  } catch {
    document.execCommand("copy"); // by plain http there is no clipboard
  }
  $("invitation-copy").textContent = "Copied";
  announce("Copied");
});
setInterval(() => { if (!document.hidden) load(); }, EVERY);
document.addEventListener("visibilitychange", () => { if (!document.hidden) load(); });
load();
