// What there is to see of a case: images side by side at the same scale, as large as the room allows, and the
// texts of outputs, all in the same look.
import { $, el, fill, icon } from "./widgets.js";
import { whileHeld } from "./view.js";

const GAP = 8;
const LEAST = 104;
const LEAST_SCROLLED = 136;
const COLUMN = 290; // the least width of a column of text

// How many columns make the pictures largest. Returns the width of one.
export const pack = (number, ratio, width, height, caption, least = LEAST) => {
  let best = { columns: 1, size: 0 };
  for (let columns = 1; columns <= number; columns += 1) {
    const rows = Math.ceil(number / columns);
    const across = (width - GAP * (columns - 1)) / columns;
    const down = ((height - GAP * (rows - 1)) / rows - caption) * ratio;
    const size = Math.floor(Math.min(across, down));
    if (size > best.size) best = { columns, size };
  }
  if (best.size >= least) return best;
  // Too small to judge: better to scroll.
  const columns = Math.max(1, Math.min(number, Math.floor((width + GAP) / (LEAST_SCROLLED + GAP))));
  return { columns, size: Math.floor((width - GAP * (columns - 1)) / columns) };
};

// Columns for outputs with texts: as many as can be read side by side, and no row much emptier than the others.
const columnsOf = (number, width) => {
  const most = Math.max(1, Math.min(number, Math.floor((width + GAP) / (COLUMN + GAP))));
  return Math.ceil(number / Math.ceil(number / most));
};

// An image that did not come is asked for once more, then said to be missing.
export const picture = (source, alt, properties = {}) => {
  const image = el("img", { alt, draggable: "false", decoding: "async", ...properties });
  let tries = 0;
  image.addEventListener("error", () => {
    tries += 1;
    if (tries === 1) setTimeout(() => { image.src = `${source}&again`; }, 1500);
    else image.parentElement?.classList.add("broken");
  });
  image.src = source;
  return image;
};

// Whatever stands in an answer, markup too, is shown as the text it is.
export const words = (text, label) => el("div", { class: text === null ? "prose none" : "prose", dir: "auto", tabindex: "0", role: "region", "aria-label": label, text: text ?? "no text" });

export class Tiles {
  // `owner` says whose images are meant: the same address is another image for the next person.
  constructor(view, owner, enlarge) {
    this.view = view;
    this.owner = owner;
    this.enlarge = enlarge;
    this.grid = $("pictures");
    const resized = new ResizeObserver(() => this.fit());
    resized.observe(this.grid.parentElement);
    resized.observe(this.grid.closest("main"));
  }

  show(task) {
    this.flicker(false);
    this.task = task;
    // Of several kinds of work, each case asks for its own parts.
    this.reads = task.gives.includes("text");
    this.draws = task.gives.includes("image");
    this.grid.classList.toggle("with-texts", this.reads);
    this.given = task.images.map(({ name }) => name);
    this.names = [...this.given, ...task.letters];
    const given = this.given.map((name) => this.tile(name));
    const outputs = task.letters.map((name) => this.tile(name));
    if (this.reads) fill(this.grid, given.length ? el("div", { class: "strip" }, given) : null, el("div", { class: "answers" }, outputs));
    else fill(this.grid, given, outputs);
    this.fit();
  }

  isOutput(name) { return this.task.letters.includes(name); }

  hasImage(name) { return this.isOutput(name) ? this.task.outputs[name].image : true; }

  text(name) { return this.isOutput(name) ? this.task.outputs[name].text : null; }

  label(name) { return this.task.images.find((one) => one.name === name)?.label ?? name; }

  describe(name) { return this.isOutput(name) ? `output ${name}` : this.label(name); }

  source(name, place = this.task.place) { return `/pictures/${place}/${name}.png?of=${this.owner}`; }

  // Ask again for images that did not come.
  mend() { if (this.grid.querySelector(".broken")) this.show(this.task); }

  // Its own outline; an output and the reference are on the grid of the input, and have that of the input.
  outline(name) {
    const image = this.task.images.find((one) => one.name === name);
    if (image?.outline) return `${name}-outline`;
    const shared = this.task.flicker && (this.isOutput(name) || name === "reference");
    return shared && this.task.images.some((one) => one.name === "previous" && one.outline) ? "previous-outline" : null;
  }

  layers(name) {
    const outline = this.outline(name);
    return [
      picture(this.source(name), this.describe(name), { class: "own" }),
      this.isOutput(name) && this.task.flicker ? picture(this.source("previous"), "", { class: "before" }) : null,
      outline ? picture(this.source(outline), "", { class: "outline" }) : null,
    ];
  }

  frame(name) {
    const frame = el("div", { class: "frame" }, el("div", { class: "layer" }, this.layers(name)), this.isOutput(name) ? el("span", { class: "mark", "aria-hidden": "true", text: "input" }) : null);
    this.view.attach(frame, () => this.enlarge(name));
    return frame;
  }

  tile(name) {
    const output = this.isOutput(name);
    const hold = output && this.task.flicker ? el("button", { type: "button", class: "mini", title: "Hold to see the input image", "aria-label": `Hold to flicker ${name} with the input image` }, icon("flicker")) : null;
    const open = el("button", { type: "button", class: "mini", title: "Enlarge", "aria-label": `Enlarge ${this.describe(name)}`, onclick: () => this.enlarge(name) }, icon("enlarge"));
    const image = this.hasImage(name) ? this.frame(name) : this.draws ? el("p", { class: "prose none", text: "no image" }) : null;
    const tile = el("figure", { class: output ? "tile output" : "tile given", "data-name": name },
      el("figcaption", {}, el("b", { text: this.label(name) }), el("span", { class: "tools" }, hold, open)), image,
      output && this.reads ? words(this.text(name), `Text of output ${name}`) : null);
    if (hold) whileHeld(hold, (on) => tile.classList.toggle("flicker", on));
    return tile;
  }

  flicker(on) { this.grid.classList.toggle("flicker", on && this.task.flicker); }

  fit() {
    if (!this.task) return;
    const room = this.grid.parentElement;
    const style = getComputedStyle(room);
    const width = room.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    // Where all scrolls, the room is as high as its images: then they are to fit what one sees at a time.
    const scrolls = style.overflowY === "visible";
    const height = (scrolls ? room.closest("main") : room).clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
    const caption = parseFloat(getComputedStyle(this.grid).getPropertyValue("--caption"));
    const ratio = this.task.width / this.task.height || 1;
    const { columns, size } = this.reads ? this.reading(ratio, width, height) : pack(this.names.length, ratio, width, height, caption, scrolls ? LEAST_SCROLLED : LEAST);
    this.grid.style.setProperty("--columns", columns);
    this.grid.style.setProperty("--size", `${size}px`);
    this.grid.style.setProperty("--ratio", ratio);
  }

  // Images above or within texts leave room to read; those of outputs and of the case have one scale.
  reading(ratio, width, height) {
    const columns = columnsOf(this.task.letters.length, width);
    const across = this.draws ? (width - GAP * (columns - 1)) / columns - 2 : width / Math.max(1, this.given.length) - GAP;
    const down = Math.max(LEAST_SCROLLED, height * (this.draws ? 0.36 : 0.42)) * ratio;
    return { columns, size: Math.floor(Math.min(across, down)) };
  }
}
