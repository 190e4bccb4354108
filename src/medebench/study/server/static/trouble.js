// What the page says about saving, and what a person has to decide when something came between: another
// tab, the end of the study, the network, a sign-in.
import { $, announce, clockTime } from "./widgets.js";
import { call, get, getAsAnybody, isOtherSession, NoConnection, Refusal, useToken } from "./api.js";
import { banner, noBanner } from "./banner.js";
import { sameRanks } from "./history.js";
import * as rank from "./ranking.js";

export class Trouble {
  constructor(panel, token) {
    this.panel = panel;
    this.token = token;
  }

  get saver() { return this.panel.saver; }

  saved(words, kind = "calm") {
    $("saved").textContent = words;
    $("saved").dataset.kind = kind;
  }

  told(state, facts) {
    if (state === "saving") this.saved("saving …", "busy");
    if (state === "saved") { this.saved(`saved ${clockTime(facts.at)}`); noBanner("offline"); noBanner("refused"); }
    if (state === "offline") this.offline();
    if (state === "conflict") this.meet(facts.current);
    if (state === "closed") this.close(facts.problem);
    if (state === "signed-out") this.renew(facts.problem);
    if (state === "refused") this.refused(facts.problem);
    if (this.panel.task && this.panel.shown) this.panel.draw();
  }

  // Nobody waits for the next case while there is no connection: they may go on here.
  offline() {
    this.panel.leaving = false;
    this.saved("not saved", "alarm");
    banner("offline", "Not saved: no connection", ["Trying again by itself. Leave this page open until it says “saved”."], [["Try now", () => this.saver.wake()]]);
  }

  refused(problem) {
    this.saved("not saved", "alarm");
    banner("refused", "The server did not take this answer", [problem], [["Try again", () => { noBanner("refused"); this.saver.resume(); }]]);
  }

  async meet(current) {
    try {
      this.conflict(current ?? await get(this.saver.path));
    } catch (error) {
      banner("refused", "This case was changed in another tab or on another device", [error.message], [["Try again", () => this.meet()]]);
    }
  }

  conflict(current) {
    const { panel, saver } = this;
    const mine = panel.groups;
    const theirs = Object.fromEntries(Object.entries(current.ranks).map(([key, groups]) => [key, rank.squeeze(groups)]));
    const keepMine = () => { noBanner("conflict"); saver.resume(current.version); panel.draw(); };
    const state = saver.waiting?.state ?? panel.state;
    if (sameRanks(mine, theirs) && state === current.state) { keepMine(); return; }
    this.saved("not saved", "alarm");
    const lines = panel.study.dimensions.filter(({ key }) => JSON.stringify(mine[key]) !== JSON.stringify(theirs[key]))
      .map(({ key, name }) => `${name}. Here: ${rank.orderWords(mine[key])}. There: ${rank.orderWords(theirs[key])}.`);
    if (!lines.length) lines.push(`Here the case is ${state}, there it is ${current.state}.`);
    banner("conflict", "This case was changed in another tab or on another device", lines, [
      ["Show that one", () => { saver.forget(); noBanner("conflict"); panel.takeOver(current, "Showing the other version"); }],
      ["Keep mine", keepMine],
    ]);
    // Not the button: Enter, pressed for the next case in this moment, would choose.
    $("banner").focus();
  }

  // What came too late is not shown as if it had been kept.
  async close(problem) {
    const { panel, saver } = this;
    const lost = saver.dirty ? ["The last change on this page came too late and was not kept."] : [];
    saver.forget();
    this.closed(problem, lost);
    try {
      const kept = await get(saver.path);
      if (panel.saver === saver) panel.takeOver(kept, "The study is closed; showing what was kept");
    } catch { /* the page stays as it is, and locked */ }
  }

  closed(problem, lost = []) {
    this.panel.closed = true;
    this.saved("closed", "alarm");
    banner("closed", problem || "The study is closed", [...lost, "You can look at your answers, but not change them."], [["Look again", () => this.look()]]);
  }

  async look() {
    await this.refresh();
    announce(this.panel.closed ? "Still closed" : "Open again");
  }

  reopened() {
    this.panel.closed = false;
    this.saved("open again");
    noBanner("closed");
  }

  // Back at this page: was the case changed elsewhere meanwhile, the study closed, or somebody else signed in?
  async refresh() {
    const { panel, saver } = this;
    const { task } = panel;
    if (saver?.dirty || saver?.stopped) return;
    try {
      const { closed } = await get("/api/study");
      if (closed !== panel.closed) {
        if (closed) this.closed();
        else this.reopened();
        if (panel.task) panel.draw();
      }
      if (!task || !panel.shown || panel.moving) return;
      const now = await get(`/api/tasks/${task.place}`);
      // What was asked for before the last save may be answered after it.
      if (this.saver !== saver || panel.moving || saver.dirty || saver.stopped || now.version <= saver.version) return;
      panel.takeOver(now, "This case was changed elsewhere; now showing the newer version");
    } catch (error) {
      if (isOtherSession(error)) this.renew(error.message, () => this.refresh());
      // Otherwise the next save will tell.
    }
  }

  async signOut() {
    const { saver } = this;
    const still = (why) => banner("failed", `You are still signed in: ${why}`, [], [["Close", () => noBanner("failed")]]);
    $("cases").close();
    if (saver && !(await saver.flush())) {
      if (saver.stopped !== "signed-out") still("the last change is not saved yet");
      return;
    }
    try {
      await call("POST", "/api/sign-out");
    } catch (error) {
      // Of another sign-in in this browser, which is not this page's to end, "/" tells.
      if (!isOtherSession(error)) {
        still(error instanceof NoConnection ? "no connection to the server" : error.message);
        return;
      }
    }
    location.replace("/");
  }

  // The session may have been renewed in another tab, perhaps by somebody else. `then` is what could not
  // be done before.
  async renew(problem, then = null) {
    try {
      const study = await getAsAnybody("/api/study");
      if (study.annotator !== this.panel.study.annotator) { this.stranger(then); return; }
      if (this.token === study.csrf) { this.refused(problem); return; }
      this.token = study.csrf;
      useToken(study.csrf);
      noBanner("signed-out");
      noBanner("stranger");
      this.saved("signed in");
      this.panel.tiles.mend();
      this.saver?.resume();
      then?.();
    } catch (error) {
      if (error instanceof Refusal && error.status === 403) this.stranger(then); // the administrator
      else this.signedOut(then, error instanceof NoConnection ? "No connection to the server. " : "");
    }
  }

  again(then) {
    this.token = "";
    if (this.panel.task) this.renew("", then);
    else location.reload();
  }

  signedOut(then = null, more = "") {
    const waits = this.saver?.dirty;
    this.saved(waits ? "not saved" : "signed out", "alarm");
    banner("signed-out", "You are signed out", [
      `${more}Open your invitation link in another tab of this browser, then press “Try again” here.${waits ? " Your last change is kept on this page until then." : ""}`,
    ], [["Try again", () => this.again(then)]]);
  }

  stranger(then) {
    this.saved(this.saver?.dirty ? "not saved" : "signed out", "alarm");
    banner("stranger", "Somebody else is signed in in this browser now", ["Nothing is saved under another name. Open your own invitation link, then press “Try again”."], [["Try again", () => this.again(then)]]);
  }
}
