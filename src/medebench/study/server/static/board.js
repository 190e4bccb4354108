// The ranking: for each dimension a pool of outputs without a place, and the places.
import { announce, arrange, el, fill, icon } from "./widgets.js";
import * as rank from "./ranking.js";
import { Dragging } from "./drag.js";

export class Board {
  // `change(key, slots, joined)` is told what a person did; it draws again through `render`.
  constructor(root, dimensions, change) {
    this.root = root;
    this.change = change;
    this.dimensions = dimensions;
    this.parts = new Map(dimensions.map((dimension) => [dimension.key, this.make(dimension)]));
    this.current = dimensions[0].key;
    this.letter = null; // the one that keys act on
    this.picked = false; // taken up by a click, waiting for a place
    this.fresh = null; // how it was before a letter gave the next place: a number then takes its stead
    this.locked = false;
    this.tabs = el("div", { class: "tabs" }, dimensions.map(({ key, name }) => el("button", {
      type: "button", "data-key": key, onclick: () => this.turn(key, true),
    }, el("span", { text: name }), el("span", { class: "so-far" }))));
    fill(root, this.tabs, [...this.parts.values()].map(({ section }) => section));
    this.dragging = new Dragging(this);
    document.addEventListener("pointerdown", (event) => { if (!root.contains(event.target)) this.rest(); });
    addEventListener("blur", () => this.rest());
  }

  make({ key, name, question, hint }) {
    const state = el("span", { class: "so-far" });
    const list = el("div", { class: "list", role: "listbox", tabindex: "0", "aria-labelledby": `name-${key}`, "aria-describedby": `asks-${key}`, "data-key": key });
    const section = el("section", { class: "dimension", "data-key": key },
      el("header", {}, el("h2", { id: `name-${key}`, text: name, title: hint }), state),
      el("p", { class: "asks", id: `asks-${key}`, text: question }), list);
    list.addEventListener("focus", () => { if (this.current !== key) this.turn(key); });
    // A palm on another question must not take it away from the finger that drags.
    section.addEventListener("pointerdown", () => { if (this.current !== key && !this.dragging.start) this.turn(key); });
    return { key, name, section, list, state, chips: new Map(), slots: [] };
  }

  // `source(letter)` is the address of an output's image; null where it is a text.
  open(task, source) {
    this.dragging.end();
    this.task = task;
    this.letter = null;
    this.picked = false;
    this.fresh = null;
    const size = task.letters.length;
    const columns = size <= 8 ? size : Math.ceil(size / 2);
    for (const part of this.parts.values()) {
      part.chips = new Map(task.letters.map((letter) => {
        const image = source(letter);
        return [letter, el("div", { class: image ? "chip" : "chip plain", role: "option", id: `chip-${part.key}-${letter}`, "data-letter": letter },
          image ? el("img", { src: image, alt: "", draggable: "false" }) : null, el("b", { text: letter }))];
      }));
      part.all = el("span", { class: "all", role: "presentation" }, icon("check"), "all ranked");
      part.pool = el("div", { class: "pool", role: "group", "aria-label": "Not ranked" });
      part.slots = task.letters.map((_, place) => el("div", { class: "slot", role: "group", "data-place": place },
        el("div", { class: "held" }), el("span", { class: "label", "aria-hidden": "true" })));
      part.places = el("div", { class: "places", role: "presentation" }, part.slots);
      fill(part.list, part.pool, part.places);
      part.list.style.setProperty("--columns", columns);
      part.list.style.setProperty("--size", size);
      part.list.classList.toggle("many", size > 8);
    }
    this.turn(this.dimensions[0].key);
  }

  lock(on) {
    this.locked = on;
    this.root.classList.toggle("locked", on);
    for (const { list } of this.parts.values()) list.setAttribute("aria-disabled", on);
    if (on) this.dragging.end();
  }

  render(ranks) {
    this.ranks = ranks;
    const size = this.task.letters.length;
    for (const part of this.parts.values()) {
      const slots = ranks[part.key];
      const done = rank.isComplete(slots);
      const left = this.task.letters.filter((letter) => rank.slotOf(slots, letter) < 0);
      arrange(part.pool, left.map((letter) => part.chips.get(letter)), left.length ? null : part.all);
      slots.forEach((group, place) => {
        const slot = part.slots[place];
        const name = rank.ordinal(place + 1);
        slot.classList.toggle("tied", group.length > 1);
        slot.classList.toggle("empty", !group.length);
        slot.setAttribute("aria-label", `${name} place`);
        slot.lastChild.textContent = group.length > 1 ? `${name} =` : name;
        arrange(slot.firstChild, group.map((letter) => part.chips.get(letter)));
      });
      for (const [letter, chip] of part.chips) {
        const here = part.key === this.current && letter === this.letter;
        chip.setAttribute("aria-label", `Output ${letter}, ${rank.placeWords(slots, letter)}`);
        chip.setAttribute("aria-selected", here);
        chip.classList.toggle("picked", here && this.picked);
        if (here) part.list.setAttribute("aria-activedescendant", chip.id);
      }
      if (part.key !== this.current || !this.letter) part.list.removeAttribute("aria-activedescendant");
      const words = done ? "done" : `${rank.ranked(slots)} of ${size}`;
      part.state.textContent = words;
      part.section.classList.toggle("complete", done);
      part.section.classList.toggle("current", part.key === this.current);
      part.section.classList.toggle("placing", part.key === this.current && this.picked);
      const tab = this.tabs.querySelector(`[data-key="${part.key}"]`);
      tab.lastChild.textContent = words;
      tab.classList.toggle("complete", done);
      tab.setAttribute("aria-pressed", part.key === this.current);
    }
  }

  get part() { return this.parts.get(this.current); }

  get slots() { return this.ranks[this.current]; }

  turn(key, focus = false) {
    this.current = key;
    this.letter = null;
    this.picked = false;
    this.fresh = null;
    if (this.ranks) this.render(this.ranks);
    if (focus) this.part.list.focus({ preventScroll: true });
  }

  // The next dimension in which something is left, or null.
  get unfinished() {
    const order = this.dimensions.map(({ key }) => key);
    const from = order.indexOf(this.current);
    return [...order.slice(from), ...order.slice(0, from)].find((key) => !rank.isComplete(this.ranks[key])) ?? null;
  }

  select(letter, picked = false) {
    this.letter = letter;
    this.picked = picked;
    this.fresh = null;
    this.render(this.ranks);
    if (letter) announce(`${letter}, ${rank.placeWords(this.slots, letter)}${picked ? ". Choose a place" : ""}`);
  }

  // Somebody turned to something else. In a question that is finished no output stays selected: a key
  // meant for another one would change the order unnoticed.
  rest() {
    if (!this.letter || this.picked || this.dragging.start || !rank.isComplete(this.slots)) return;
    this.letter = null;
    this.fresh = null;
    this.render(this.ranks);
  }

  apply(slots, letter, joined = false) {
    if (this.locked) return;
    this.letter = letter;
    this.picked = false;
    if (JSON.stringify(slots) === JSON.stringify(this.slots)) {
      this.render(this.ranks);
      announce(`${letter} stays ${rank.placeWords(slots, letter)}`);
      return;
    }
    this.change(this.current, slots, joined);
    announce(`${letter}, ${rank.placeWords(slots, letter)}. ${rank.ranked(slots)} of ${slots.length} in ${this.part.name}`);
  }

  // A letter gives the next place to an output that has none, and selects one that has.
  press(letter) {
    if (rank.slotOf(this.slots, letter) >= 0) { this.select(letter); return; }
    if (this.locked) return;
    const { slots } = this;
    this.apply(rank.append(slots, letter), letter);
    this.fresh = slots;
  }

  place(number) {
    if (!this.letter || number > this.slots.length) return;
    this.apply(rank.put(this.fresh ?? this.slots, this.letter, number - 1), this.letter, this.fresh !== null);
    this.fresh = null;
  }

  move(how) {
    if (!this.letter) return;
    this.apply(rank[how](this.slots, this.letter), this.letter, false);
    this.fresh = null;
  }

  tie() {
    if (this.letter) this.move("tieAbove");
    else announce("Nothing is selected to be tied");
  }

  // Selection in the order on the screen.
  step(by) {
    const order = [...this.part.list.querySelectorAll(".chip")].map((chip) => chip.dataset.letter);
    const from = order.indexOf(this.letter);
    const next = from < 0 ? (by > 0 ? 0 : order.length - 1) : Math.min(Math.max(from + by, 0), order.length - 1);
    this.select(order[next]);
  }

  drop(letter, zone) {
    if (zone.kind === "pool") this.apply(rank.unrank(this.slots, letter), letter);
    else if (zone.kind === "insert") this.apply(rank.insert(this.slots, letter, zone.gap), letter);
    else this.apply(rank.put(this.slots, letter, zone.place), letter);
    this.fresh = null;
  }
}
