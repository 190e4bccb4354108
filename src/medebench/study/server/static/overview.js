// Where one is among the cases: the counter, the bar, the list to jump from, and the end.
import { $, count, el, fill } from "./widgets.js";

const WORDS = { open: "open", draft: "begun", done: "ranked", skipped: "skipped" };

export class Overview {
  constructor(tasks, go) {
    this.tasks = tasks;
    this.go = go;
    const numbered = tasks.filter((task) => !task.trial);
    this.numbers = new Map(numbered.map((task, index) => [task.place, index + 1]));
    this.trials = tasks.filter((task) => task.trial).length;
    this.total = numbered.length;
    $("open-cases").addEventListener("click", () => this.open());
    $("cases-close").addEventListener("click", () => $("cases").close());
  }

  label(place) {
    const number = this.numbers.get(place);
    return number === undefined ? "Trial" : `Case ${number} of ${this.total}`;
  }

  short(place) { return this.numbers.has(place) ? String(this.numbers.get(place)) : "Trial"; }

  number(state) { return this.tasks.filter((task) => !task.trial && task.state === state).length; }

  set(place, state) {
    const task = this.tasks.find((one) => one.place === place);
    if (task) task.state = state;
  }

  // The next case that waits, after `place`, then from the start; null when none is left.
  next(place) {
    const waits = (task) => task.place !== place && (task.state === "open" || task.state === "draft");
    return (this.tasks.find((task) => task.place > place && waits(task)) ?? this.tasks.find(waits))?.place ?? null;
  }

  render(place) {
    this.place = place;
    const done = this.number("done");
    const skipped = this.number("skipped");
    $("count").textContent = place === null ? `${done} of ${this.total} ranked` : this.label(place);
    $("open-cases").setAttribute("aria-label", `${place === null ? "" : `${this.label(place)}, `}${done} ranked, ${skipped} skipped. Show all cases`);
    $("bar-done").style.width = `${(100 * done) / Math.max(this.total, 1)}%`;
    $("bar-skipped").style.width = `${(100 * skipped) / Math.max(this.total, 1)}%`;
  }

  button(task) {
    return el("button", {
      type: "button", class: `jump ${task.state}`, text: this.short(task.place), "aria-current": task.place === this.place ? "step" : null,
      "aria-label": `${this.label(task.place)}, ${WORDS[task.state]}`, title: WORDS[task.state],
      onclick: () => { $("cases").close(); this.go(task.place); },
    });
  }

  open() {
    fill($("cases-list"), this.tasks.map((task) => this.button(task)));
    fill($("cases-key"), Object.entries(WORDS).map(([state, words]) => el("span", {}, el("i", { class: `jump ${state}`, "aria-hidden": "true" }), `${words} ${this.number(state)}`)));
    $("cases").showModal();
    $("cases-list").querySelector("[aria-current]")?.focus();
  }

  // What is said at the end.
  thanks() {
    const skipped = this.tasks.filter((task) => !task.trial && task.state === "skipped");
    const done = this.number("done");
    fill($("thanks-words"),
      el("p", { text: `You ranked ${done} of ${count(this.total, "case")}${skipped.length ? ` and skipped ${skipped.length}` : ""}. Everything is saved.` }),
      el("p", { class: "muted", text: "You can come back with your invitation link and change answers for as long as the study is open. Otherwise you are done: close this page." }));
    $("thanks-left").hidden = !skipped.length;
    fill($("thanks-skipped"), skipped.map((task) => this.button(task)));
  }
}
