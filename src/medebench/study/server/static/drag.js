// Drag and drop with mouse, pen or finger, and the same with two clicks: take one up, put it down.
import { el } from "./widgets.js";
import { ordinal, slotOf, unrank } from "./ranking.js";

const FAR = { mouse: 4, pen: 6, touch: 8 };
const EDGE = 0.27; // of an occupied place on either side: a new place before or after it

export class Dragging {
  constructor(board) {
    this.board = board;
    this.start = null;
    const root = board.root;
    root.addEventListener("pointerdown", (event) => this.down(event));
    root.addEventListener("pointermove", (event) => this.move(event));
    root.addEventListener("pointerup", (event) => this.up(event));
    for (const name of ["pointercancel", "lostpointercapture"]) {
      root.addEventListener(name, (event) => { if (event.pointerId === this.start?.id) this.end(); });
    }
    root.addEventListener("pointerleave", () => { if (!this.start) this.mark(null); });
    root.addEventListener("contextmenu", (event) => { if (event.target.closest(".chip")) event.preventDefault(); });
    addEventListener("blur", () => this.end());
  }

  get dragging() { return Boolean(this.ghost); }

  down(event) {
    if (event.button !== 0 || this.board.locked) return;
    if (this.start && event.pointerId !== this.start.id) return; // a second finger, or the palm
    const list = event.target.closest(".list");
    if (!list) return;
    const chip = event.target.closest(".chip");
    this.start = { x: event.clientX, y: event.clientY, id: event.pointerId, key: list.dataset.key, chip, far: FAR[event.pointerType] ?? 6 };
    // Not the chip: it moves about in the document, and would lose the pointer on the way.
    this.board.root.setPointerCapture(event.pointerId);
  }

  move(event) {
    const { start, board } = this;
    if (!start) {
      if (board.picked && event.pointerType === "mouse") this.mark(this.zone(event.clientX, event.clientY, board.letter));
      return;
    }
    if (event.pointerId !== start.id || !start.chip) return;
    if (!this.ghost) {
      if (Math.hypot(event.clientX - start.x, event.clientY - start.y) < start.far) return;
      this.lift();
    }
    this.ghost.style.translate = `${event.clientX}px ${event.clientY}px`;
    this.mark(this.zone(event.clientX, event.clientY, start.chip.dataset.letter));
  }

  lift() {
    const { chip } = this.start;
    this.board.select(chip.dataset.letter);
    this.words = el("span", { class: "where" });
    const copy = chip.cloneNode(true);
    copy.removeAttribute("id");
    this.ghost = el("div", { class: "ghost", "aria-hidden": "true" }, copy, this.words);
    copy.style.width = `${Math.min(chip.offsetWidth, 72)}px`;
    copy.style.height = `${Math.min(chip.offsetWidth, 72)}px`;
    document.body.append(this.ghost);
    chip.classList.add("lifted");
    document.documentElement.classList.add("dragging");
  }

  up(event) {
    const { start, board } = this;
    if (!start || event.pointerId !== start.id) return;
    const letter = start.chip?.dataset.letter ?? null;
    const was = this.dragging;
    this.end();
    if (start.key !== board.current) return; // another question was turned to on the way
    if (was) {
      const zone = this.zone(event.clientX, event.clientY, letter);
      if (zone) board.drop(letter, zone);
    } else {
      this.click(event, letter);
    }
  }

  click(event, letter) {
    const { board } = this;
    if (board.picked && board.letter !== letter) {
      const free = letter !== null && slotOf(board.slots, letter) < 0;
      const zone = free ? null : this.zone(event.clientX, event.clientY, board.letter);
      if (zone) return board.drop(board.letter, zone);
    }
    if (letter) board.select(letter, !(board.picked && board.letter === letter));
    else board.select(null);
  }

  end() {
    if (this.start?.chip) this.start.chip.classList.remove("lifted");
    this.ghost?.remove();
    this.ghost = null;
    this.start = null;
    this.mark(null);
    document.documentElement.classList.remove("dragging");
  }

  // Where something would go if it were let go of here; only in its own dimension.
  zone(x, y, letter) {
    const under = document.elementFromPoint(x, y);
    const list = under?.closest(".list");
    const { part } = this.board;
    if (list !== part.list) return null;
    const rest = unrank(this.board.slots, letter);
    if (under.closest(".pool")) return { kind: "pool", words: "take back", at: part.pool };
    let slot = under.closest(".slot");
    if (!slot) {
      const away = (one) => {
        const box = one.getBoundingClientRect();
        return Math.hypot(x - (box.left + box.right) / 2, y - (box.top + box.bottom) / 2);
      };
      slot = part.slots.reduce((best, one) => (away(one) < away(best) ? one : best));
    }
    const place = Number(slot.dataset.place);
    const there = rest[place];
    if (!there.length) return { kind: "put", place, words: ordinal(place + 1), at: slot };
    const box = slot.getBoundingClientRect();
    const across = (x - box.left) / box.width;
    const names = there.join(" = ");
    if (across < EDGE) return { kind: "insert", gap: place, words: `before ${names}`, at: slot, side: "before" };
    if (across > 1 - EDGE) return { kind: "insert", gap: place + 1, words: `after ${names}`, at: slot, side: "after" };
    return { kind: "tie", place, words: `tie with ${names}`, at: slot };
  }

  mark(zone) {
    this.marked?.classList.remove("target", "tie", "before", "after");
    this.marked = zone?.at ?? null;
    if (zone) {
      const side = zone.side ?? (zone.kind === "tie" ? "tie" : "target");
      this.marked.classList.add(side);
    }
    if (this.words) this.words.textContent = zone ? zone.words : "";
  }
}
