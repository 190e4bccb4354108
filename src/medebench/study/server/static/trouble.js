// What the page says about saving, and what a person has to decide when something came between: another
// tab, the end of the study, the network, a sign-in.
import { $, clockTime } from "./dom.js";
import { get, NoConnection, useToken } from "./api.js";
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
    if (state === "saved") { this.saved(`saved ${clockTime(facts.at)}`); noBanner("offline"); }
    if (state === "offline") this.offline();
    if (state === "conflict") this.meet(facts.current);
    if (state === "closed") this.close(facts.problem);
    if (state === "signed-out") this.renew(facts.problem);
    if (state === "refused") this.refused(facts.problem);
    if (this.panel.task && this.panel.shown) this.panel.draw();
  }

  offline() {
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

  close(problem) {
    this.panel.closed = true;
    this.saved("closed", "alarm");
    const lost = this.saver.dirty ? ["The last change on this page came too late and was not kept."] : [];
    this.saver.forget();
    banner("closed", problem || "The study is closed", [...lost, "You can look at your answers, but not change them."]);
  }

  // The session may have been renewed in another tab, perhaps by somebody else.
  async renew(problem) {
    try {
      const study = await get("/api/study");
      if (study.annotator !== this.panel.study.annotator) { this.stranger(); return; }
      if (this.token === study.csrf) { this.refused(problem); return; }
      this.token = study.csrf;
      useToken(study.csrf);
      noBanner("signed-out");
      noBanner("stranger");
      this.saved("signed in");
      this.saver?.resume();
    } catch (error) {
      this.signedOut(error instanceof NoConnection ? "No connection to the server. " : "");
    }
  }

  again() {
    this.token = "";
    if (this.panel.task) this.renew("");
    else location.reload();
  }

  signedOut(more = "") {
    const waits = this.saver?.dirty;
    this.saved(waits ? "not saved" : "signed out", "alarm");
    banner("signed-out", "You are signed out", [
      `${more}Open your invitation link in another tab of this browser, then press “Try again” here.${waits ? " Your last change is kept on this page until then." : ""}`,
    ], [["Try again", () => this.again()]]);
  }

  stranger() {
    this.saved("not saved", "alarm");
    banner("stranger", "Somebody else is signed in in this browser now", ["Nothing is saved under another name. Open your own invitation link, then press “Try again”."], [["Try again", () => this.again()]]);
  }
}
