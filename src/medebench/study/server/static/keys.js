// What the keys do, and the page that says so. Letters belong to the outputs first: a command whose letter
// names an output is typed with Shift.
import { $, el, fill } from "./widgets.js";

export const letterOf = (event) => {
  if (/^[a-z]$/i.test(event.key)) return event.key.toUpperCase();
  // Other scripts: the key where the letter would be.
  const place = /^Key([A-Z])$/.exec(event.code);
  return place && event.key.length === 1 && event.key.charCodeAt(0) > 127 ? place[1] : null;
};

const inText = (target) => target.matches("input, textarea, select, [contenteditable]");

// Commands that are typed with Shift where the letter names an output (S always is).
const SHIFTED = "FRSTZ";
// Whether Shift makes a command of the letter, or is held by chance.
export const isShifted = (event, letter) => event.shiftKey && SHIFTED.includes(letter);

export class Keys {
  // `panel`: board, view, tiles, large and the commands goOn, undo, redo, outline, help, skip.
  constructor(panel) {
    this.panel = panel;
    document.addEventListener("keydown", (event) => this.down(event));
    document.addEventListener("keyup", (event) => { if (letterOf(event) === "F") panel.flicker(false); });
    addEventListener("blur", () => panel.flicker(false));
  }

  isOutput(letter) { return this.panel.task?.letters.includes(letter); }

  // Whether the letter is a command here, typed as `name` says.
  isFree(event, letter) { return letter !== null && event.shiftKey === Boolean(this.isOutput(letter)); }

  // Commands that also work in the large view. True if it was one.
  command(event) {
    const { panel } = this;
    const letter = letterOf(event);
    const free = this.isFree(event, letter);
    if (event.key === "+") panel.view.zoomBy(1.5);
    else if (event.key === "-" || event.key === "_") panel.view.zoomBy(1 / 1.5);
    else if (event.key === "0") panel.view.reset();
    else if (free && letter === "F") { if (!event.repeat) panel.flicker(true); }
    else if (free && letter === "R") panel.outline();
    else if (free && letter === "Z") panel.enlarge();
    else if (event.key === "?") panel.help();
    else return false;
    return true;
  }

  down(event) {
    const { panel } = this;
    if (event.defaultPrevented || !panel.task || !panel.shown || document.querySelector("dialog[open]") || inText(event.target)) return;
    const held = event.ctrlKey || event.metaKey;
    const letter = letterOf(event);
    if (held && !event.altKey && (letter === "Z" || letter === "Y")) {
      if (letter === "Y" || event.shiftKey) panel.redo();
      else panel.undo();
      event.preventDefault();
      return;
    }
    if (held || event.altKey) return;
    const onButton = event.target.closest("button, a, summary");
    if (onButton && (event.key === "Enter" || event.key === " ")) return;
    if (this.ranking(event) || this.command(event)) event.preventDefault();
  }

  ranking(event) {
    const { board } = this.panel;
    const letter = letterOf(event);
    if (event.key === "Enter") { if (!event.repeat) this.panel.goOn(); }
    else if (event.key === "Escape") { board.dragging.end(); board.select(null); }
    else if (letter && this.isOutput(letter) && !isShifted(event, letter)) { if (!event.repeat) board.press(letter); }
    else if (letter === "S" && event.shiftKey) this.panel.skip();
    else if (/^[1-9]$/.test(event.key)) board.place(Number(event.key));
    else if (event.key === "=" || (letter === "T" && this.isFree(event, letter))) { if (!event.repeat) board.tie(); }
    else if (!event.target.matches("body, .list, #dimensions")) return false; // there they scroll, or do nothing
    else if (event.key === "ArrowUp") board.move("better");
    else if (event.key === "ArrowDown") board.move("worse");
    else if (event.key === "ArrowLeft") board.step(-1);
    else if (event.key === "ArrowRight") board.step(1);
    else if (event.key === "Backspace" || event.key === "Delete") board.move("unrank");
    else return false;
    return true;
  }

  // The name of a command's key for this case.
  name(letter) { return this.isOutput(letter) ? `Shift ${letter}` : letter; }

  explain() {
    const last = this.panel.task?.letters.at(-1) ?? "…";
    const { flicker, outline, images } = this.panel.study;
    const groups = [
      ["Rank", [
        [`A … ${last}`, "give the output the next place; if it has one, select it"],
        ["1 … 9", "put the selected output in that place (tied with any already there)"],
        ["↑ ↓", "move it one place up or down"],
        ["= or " + this.name("T"), "tie it with the one before"],
        ["Backspace", "remove it from its place"],
        ["← →", "select another output"],
        ["Enter", "continue: to the next question, then to the next case"],
        ["Tab", "to the next question or button"],
      ]],
      ["Look", [
        flicker ? [this.name("F"), "hold: show the input image in place of every output"] : null,
        outline ? [this.name("R"), "outline of the region to edit"] : null,
        [this.name("Z"), "enlarge the selected output; there: A … " + last + ", ← →, Esc"],
        images ? ["+  −  0", "zoom in, out, whole image; also wheel and pinch, drag to move"] : null,
      ].filter(Boolean)],
      ["Case", [
        ["Ctrl Z", "undo; Ctrl Shift Z: redo (Cmd on a Mac)"],
        ["Shift S", "skip the case, with a reason"],
        ["?", "this page"],
      ]],
    ];
    fill($("help-keys"), groups.map(([title, rows]) => el("section", {}, el("h3", { text: title }),
      el("dl", {}, rows.flatMap(([keys, words]) => [el("dt", {}, el("kbd", { text: keys })), el("dd", { text: words })])))));
  }
}
