// The panel of an annotator: one case at a time, saved at every change.
import { $, announce, count, el, fill, icon } from "./widgets.js";
import { get, isOtherSession, NoConnection, useToken } from "./api.js";
import { banner, noBanner } from "./banner.js";
import { Board } from "./board.js";
import { Clock } from "./clock.js";
import { History, sameRanks } from "./history.js";
import { Keys } from "./keys.js";
import { Large } from "./large.js";
import { Overview } from "./overview.js";
import * as rank from "./ranking.js";
import { Saver } from "./saver.js";
import { Skipping } from "./skipping.js";
import { Tiles } from "./tiles.js";
import { Trouble } from "./trouble.js";
import { View, whileHeld } from "./view.js";

class Panel {
  constructor(study, token) {
    this.study = study;
    this.closed = study.closed;
    this.task = null;
    this.saver = null;
    this.savers = []; // also of cases that were left, should something still be under way
    this.asked = 0; // counts the calls of `go`: an answer to any but the last comes too late
    this.moving = false; // the next case is on its way
    this.leaving = false; // this one is being saved for good
    this.clock = new Clock();
    this.view = new View((zoom) => { $("zoom").textContent = `${Math.round(zoom * 100)} %`; });
    this.tiles = new Tiles(this.view, study.pictures, (name) => this.enlarge(name));
    this.board = new Board($("dimensions"), study.dimensions, (key, slots, joined) => this.changed(key, slots, joined));
    this.keys = new Keys(this);
    this.large = new Large(this.view, (event) => this.keys.command(event));
    this.overview = new Overview(study.tasks, (place) => this.go(place));
    this.skipping = new Skipping((reason) => this.leave("skipped", reason));
    this.trouble = new Trouble(this, token);
    this.buttons();
    addEventListener("beforeunload", (event) => {
      if (!this.savers.some(({ dirty }) => dirty)) return;
      event.preventDefault();
      event.returnValue = ""; // what older browsers look at
    });
    addEventListener("hashchange", () => this.follow());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.trouble.refresh(); });
  }

  get shown() { return !$("case").hidden; }

  get readOnly() { return this.closed; }

  buttons() {
    const on = (id, act) => $(id).addEventListener("click", act);
    fill($("thanks-tick"), icon("check"));
    fill($("undo"), icon("undo"));
    fill($("redo"), icon("redo"));
    fill($("flicker"), icon("flicker"), "Flicker");
    on("undo", () => this.undo());
    on("redo", () => this.redo());
    on("next", () => this.goOn());
    on("skip-open", () => this.skip());
    on("help-open", () => this.help());
    on("help-close", () => $("help").close());
    on("help-more", () => { $("help").close(); this.instructions(); });
    on("zoom-in", () => this.view.zoomBy(1.5));
    on("zoom-out", () => this.view.zoomBy(1 / 1.5));
    on("zoom", () => this.view.reset());
    on("outline", () => this.outline());
    on("begin", () => this.go(this.task?.place ?? this.first()));
    on("sign-out", () => this.trouble.signOut());
    on("thanks-back", () => this.overview.open());
    whileHeld($("flicker"), (held) => this.flicker(held));
    for (const dialog of document.querySelectorAll("dialog")) {
      dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    }
  }

  first() {
    const { tasks } = this.study;
    return (tasks.find(({ state }) => state === "open" || state === "draft") ?? tasks[0])?.place ?? null;
  }

  // The address says which case is open, by number only, so that a reload comes back to it.
  start() {
    const asked = /^#case-(\d+)$/.exec(location.hash);
    const untouched = this.study.tasks.every(({ state }) => state === "open");
    const waiting = this.study.tasks.some(({ state }) => state === "open" || state === "draft");
    if (!this.study.tasks.length) return this.page("thanks");
    if (asked && this.study.tasks.some(({ place }) => place === Number(asked[1]))) return this.go(Number(asked[1]));
    if (untouched) return this.instructions();
    return waiting ? this.go(this.first()) : this.end();
  }

  follow() {
    const asked = /^#case-(\d+)$/.exec(location.hash);
    if (asked && Number(asked[1]) !== this.task?.place) this.go(Number(asked[1]));
  }

  page(name) {
    for (const id of ["case", "instructions", "thanks"]) $(id).hidden = id !== name;
    $("skip-link").hidden = name !== "case";
    $("looking").hidden = name !== "case";
    document.body.dataset.page = name;
    if (name !== "case") {
      scrollTo(0, 0);
      $(name).querySelector("h1").focus();
    }
  }

  instructions() {
    $("begin").textContent = this.task || !this.study.tasks.every(({ state }) => state === "open") ? "Back to the cases" : this.study.tasks[0].trial ? "Start with the trial case" : "Start";
    this.overview.render(this.task?.place ?? null);
    this.page("instructions");
  }

  end() {
    if (location.hash) history.replaceState(null, "", location.pathname);
    this.task = null;
    this.saver = null;
    this.overview.render(null);
    this.overview.thanks();
    this.page("thanks");
  }

  // A case is left only when all of it is on the server. Until the next one is here nothing can be changed.
  async go(place) {
    this.asked += 1;
    const { asked } = this;
    const late = () => this.asked !== asked;
    this.move(false);
    if (this.task?.place === place && this.shown) { noBanner("loading"); return; }
    try {
      if (!(await this.safe()) || late()) return;
      this.move(true);
      const task = place === null ? null : await get(`/api/tasks/${place}`);
      if (late() || !(await this.safe()) || late()) return;
      this.move(false);
      noBanner("loading");
      if (task) this.open(task);
      else this.end();
    } catch (error) {
      if (late()) return;
      if (isOtherSession(error)) this.trouble.renew(error.message, () => this.go(place));
      else banner("loading", error instanceof NoConnection ? "No connection to the server" : error.message, [], [["Try again", () => this.go(place)]]);
    } finally {
      if (!late()) this.move(false);
    }
  }

  // Whether all of this case is on the server, waiting for it if need be.
  async safe() {
    if (!this.saver || (await this.saver.flush())) return true;
    announce("Not saved yet: the case stays open");
    history.replaceState(null, "", `#case-${this.task.place}`);
    return false;
  }

  move(on) {
    if (this.moving === on) return;
    this.moving = on;
    $("case").setAttribute("aria-busy", on);
    if (this.task) this.draw();
  }

  open(task) {
    this.adopt(task);
    this.view.reset();
    this.tiles.show(task);
    this.board.open(task, (letter) => (this.tiles.hasImage(letter) ? this.tiles.source(letter) : null));
    this.texts(task);
    if (location.hash !== `#case-${task.place}`) history.replaceState(null, "", `#case-${task.place}`);
    this.page("case");
    for (const scrolled of document.querySelectorAll("main, .reading, .texts, .room")) scrolled.scrollTop = 0;
    this.draw();
    const left = this.board.unfinished;
    if (left !== null) this.board.turn(left);
    this.board.part.list.focus({ preventScroll: true });
    announce(`${this.overview.label(task.place)}. ${task.texts[0]?.text ?? ""}`);
    this.preload(this.overview.next(task.place));
  }

  // What the server knows about a case becomes what the page knows.
  adopt(task) {
    const size = task.letters.length;
    const empty = Object.fromEntries(this.study.dimensions.map(({ key }) => [key, rank.spread([], size)]));
    this.task = task;
    this.leaving = false;
    this.state = task.state;
    this.reason = task.reason ?? "";
    this.history = History.replay(task.history ?? [], task.ranks, empty, size);
    const saver = new Saver(task.place, task.version, (state, facts) => { if (this.saver === saver) this.trouble.told(state, facts); });
    this.savers = [...this.savers.filter(({ dirty }) => dirty), saver];
    this.saver = saver;
    this.clock.start(task.seconds ?? 0);
    this.overview.set(task.place, task.state);
    if (this.closed) this.trouble.saved("closed", "alarm");
    else if (task.version) this.trouble.saved("saved");
    else this.trouble.saved("nothing saved yet", "none");
  }

  texts(task) {
    $("trial").hidden = !task.trial;
    $("group").textContent = task.group;
    $("group").hidden = !task.group;
    const [first, ...others] = task.texts;
    fill($("texts"),
      first ? el("p", { class: "instruction" }, el("span", { class: "sr", text: `${first.label}: ` }), el("span", { dir: "auto", text: first.text })) : null,
      others.map(({ label, text }) => el("p", { class: "expected" }, el("span", { class: "lead", text: label }), el("span", { dir: "auto", text }))));
    $("flicker").hidden = !task.flicker;
    $("outline").hidden = !task.images.some(({ outline }) => outline);
    $("zooms").hidden = !task.width;
    document.title = `${this.overview.label(task.place)} · ${this.study.title}`;
  }

  async preload(place) {
    if (place === null) return;
    try {
      const { letters, outputs, images } = await get(`/api/tasks/${place}`);
      const given = images.flatMap(({ name, outline }) => (outline ? [name, `${name}-outline`] : [name]));
      for (const name of [...given, ...letters.filter((letter) => outputs[letter].image)]) new Image().src = this.tiles.source(name, place);
    } catch { /* only to be faster */ }
  }

  draw() {
    const { board, history: steps, task } = this;
    board.lock(this.readOnly || this.moving || this.leaving || this.saver.stopped === "conflict");
    board.render(steps.now);
    $("undo").disabled = board.locked || !steps.canUndo;
    $("redo").disabled = board.locked || !steps.canRedo;
    $("skip-open").disabled = board.locked;
    const left = this.study.dimensions.filter(({ key }) => !rank.isComplete(steps.now[key])).map(({ name }) => name);
    const last = this.overview.next(task.place) === null;
    $("next").textContent = this.readOnly ? "Next case" : last ? "Finish" : "Next case";
    $("next").setAttribute("aria-disabled", !this.readOnly && left.length > 0);
    $("next-why").textContent = this.readOnly ? "" : left.length === 1 ? `still to rank: ${left[0]}` : left.length ? `${left.length} questions still to rank` : "all ranked";
    $("skipped-note").hidden = this.state !== "skipped";
    $("skipped-note").textContent = `Skipped: ${this.reason}. Ranking it brings it back.`;
    this.overview.render(task.place);
  }

  get complete() { return this.study.dimensions.every(({ key }) => rank.isComplete(this.history.now[key])); }

  // As it is saved: orders without gaps.
  get groups() { return Object.fromEntries(Object.entries(this.history.now).map(([key, slots]) => [key, rank.squeeze(slots)])); }

  changed(key, slots, joined) {
    this.history.push({ ...this.history.now, [key]: slots }, joined);
    this.keep();
  }

  // A case that was done stays done while it is complete; one that was skipped comes back.
  keep() {
    this.state = this.state === "done" && this.complete ? "done" : "draft";
    this.reason = "";
    this.submit();
    this.draw();
  }

  submit() {
    this.overview.set(this.task.place, this.state);
    this.saver.submit({ state: this.state, ranks: this.groups, reason: this.reason, seconds: this.clock.seconds });
  }

  undo() {
    if (this.board.locked || !this.history.canUndo) return;
    this.travel(() => this.history.undo());
    announce("Undone");
  }

  redo() {
    if (this.board.locked || !this.history.canRedo) return;
    this.travel(() => this.history.redo());
    announce("Redone");
  }

  // To the question in which something changes: elsewhere it would change unseen.
  travel(step) {
    const { board } = this;
    const before = this.history.now;
    step();
    const moved = ({ key }) => !sameRanks({ [key]: before[key] }, { [key]: this.history.now[key] });
    const { key } = this.study.dimensions.find(moved) ?? { key: board.current };
    board.turn(key, document.activeElement?.classList.contains("list"));
    this.keep();
  }

  // Enter: first through the dimensions, then to the next case.
  goOn() {
    if (this.readOnly) return this.go(this.beside());
    const { board } = this;
    const left = board.unfinished;
    if (left === null) return this.leave("done", "");
    if (left === board.current) this.nudge();
    else board.turn(left);
    board.part.list.focus({ preventScroll: true });
    announce(`${board.part.name}: ${rank.ranked(board.slots)} of ${board.slots.length} ranked`);
    return null;
  }

  nudge() {
    const { section } = this.board.part;
    section.classList.add("nudge");
    setTimeout(() => section.classList.remove("nudge"), 700);
  }

  beside() {
    const { tasks } = this.study;
    const place = tasks.findIndex((task) => task.place === this.task.place);
    return tasks[(place + 1) % tasks.length].place;
  }

  async leave(state, reason) {
    const { saver } = this;
    if (this.board.locked) return;
    const same = this.state === state && this.reason === reason && !saver.dirty;
    this.state = state;
    this.reason = reason;
    this.leaving = true;
    if (!same) this.submit();
    this.draw();
    const { now } = this.history;
    const { asked } = this;
    const good = await saver.flush();
    if (this.saver !== saver) return;
    this.leaving = false;
    // Somebody who went on ranking while the connection was away, or went elsewhere, is not sent off.
    if (good && this.state === state && this.history.now === now && this.asked === asked) await this.go(this.overview.next(this.task.place));
    else this.draw();
  }

  skip() {
    if (this.board.locked) return;
    this.board.rest();
    this.skipping.open(this.reason);
  }

  help() {
    this.board.rest();
    this.keys.explain();
    if (!$("help").open) $("help").showModal();
  }

  outline() {
    if (!this.task || $("outline").hidden) return;
    const on = document.documentElement.classList.toggle("with-outline");
    $("outline").setAttribute("aria-pressed", on);
    announce(on ? "Outline on" : "Outline off");
  }

  flicker(on) {
    // Off everywhere: the large view may have been opened or closed while the key was down.
    this.large.flicker(on && $("large").open);
    this.tiles.flicker(on && !$("large").open);
  }

  enlarge(name) {
    if ($("large").open) $("large").close();
    else {
      this.large.show(this.tiles, name ?? this.board.letter ?? this.task.letters[0]);
      this.board.rest();
    }
  }

  takeOver(task, words) {
    this.adopt(task);
    this.board.select(null);
    this.draw();
    announce(words);
  }
}

const explainDimensions = (dimensions) => fill($("about-dimensions"), dimensions.map(({ name, question, hint }) => el("div", {},
  el("h3", { text: name }), el("p", { text: question }), el("p", { class: "muted", text: hint }))));

const start = async () => {
  try {
    const study = await get("/api/study");
    useToken(study.csrf);
    $("title").textContent = study.title;
    document.title = study.title;
    $("who").textContent = study.annotator;
    explainDimensions(study.dimensions);
    const times = study.dimensions.length;
    $("about-times").textContent = times === 1 ? "by this question" : `${["", "", "twice", "three times"][times] ?? `${times} times`}: once for each of these questions`;
    const cases = study.tasks.filter(({ trial }) => !trial).length;
    $("about-number").textContent = count(cases, "case");
    study.texts = study.gives.includes("text");
    const what = { image: "images", text: "texts" }[study.gives.join()] ?? "images with texts";
    $("about-what").textContent = study.flicker && !study.texts ? "an image, an instruction to change it, and several outputs made by following it" : `a question or instruction and several outputs: ${what} made in reply`;
    // Of the words about looking, those that are about something this study shows.
    for (const part of document.querySelectorAll("[data-needs]")) part.hidden = !study[part.dataset.needs];
    const panel = new Panel(study, study.csrf);
    if (study.closed) panel.trouble.closed();
    document.body.dataset.ready = "yes";
    await panel.start();
  } catch (error) {
    if (isOtherSession(error)) location.replace("/");
    else banner("loading", error instanceof NoConnection ? "No connection to the server" : error.message, [], [["Try again", () => location.reload()]]);
  }
};
start();
