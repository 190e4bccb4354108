// The pictures of a case side by side, all at the same scale, as large as the room allows.
import { $, el, fill, icon } from "./dom.js";
import { whileHeld } from "./view.js";

const GAP = 8;
const LEAST = 104;
const LEAST_SCROLLED = 136;

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

export const pictureName = (name) => ({ previous: "Previous", reference: "Reference" })[name] ?? name;
export const pictureWords = (name) => ({ previous: "the previous picture", reference: "one good result" })[name] ?? `output ${name}`;

// A picture that did not come is asked for once more, then said to be missing.
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

export class Tiles {
  // `owner` says whose pictures are meant: the same address is another picture for the next person.
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
    this.names = ["previous", ...(task.reference ? ["reference"] : []), ...task.letters];
    fill(this.grid, this.names.map((name) => this.tile(name)));
    this.fit();
  }

  source(name, place = this.task.place) { return `/pictures/${place}/${name}.png?of=${this.owner}`; }

  // Ask again for pictures that did not come.
  mend() { if (this.grid.querySelector(".broken")) this.show(this.task); }

  layers(name) {
    const output = this.task.letters.includes(name);
    return [
      picture(this.source(name), pictureWords(name), { class: "own" }),
      output ? picture(this.source("previous"), "", { class: "before" }) : null,
      this.task.outline ? picture(this.source("outline"), "", { class: "outline" }) : null,
    ];
  }

  tile(name) {
    const output = this.task.letters.includes(name);
    const frame = el("div", { class: "frame" }, el("div", { class: "layer" }, this.layers(name)), output ? el("span", { class: "mark", "aria-hidden": "true", text: "previous" }) : null);
    const hold = output ? el("button", { type: "button", class: "mini", title: "Hold to see the previous picture", "aria-label": `Hold to flicker ${name} with the previous picture` }, icon("flicker")) : null;
    const open = el("button", { type: "button", class: "mini", title: "Enlarge", "aria-label": `Enlarge ${pictureWords(name)}`, onclick: () => this.enlarge(name) }, icon("enlarge"));
    const tile = el("figure", { class: output ? "tile output" : "tile given", "data-name": name },
      el("figcaption", {}, el("b", { text: pictureName(name) }), el("span", { class: "tools" }, hold, open)), frame);
    if (hold) whileHeld(hold, (on) => tile.classList.toggle("flicker", on));
    this.view.attach(frame, () => this.enlarge(name));
    return tile;
  }

  flicker(on) { this.grid.classList.toggle("flicker", on); }

  fit() {
    if (!this.task) return;
    const room = this.grid.parentElement;
    const style = getComputedStyle(room);
    const width = room.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    // Where all scrolls, the room is as high as its pictures: then they are to fit what one sees at a time.
    const scrolls = style.overflowY === "visible";
    const height = (scrolls ? room.closest("main") : room).clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
    const caption = parseFloat(getComputedStyle(this.grid).getPropertyValue("--caption"));
    const { columns, size } = pack(this.names.length, this.task.width / this.task.height, width, height, caption, scrolls ? LEAST_SCROLLED : LEAST);
    this.grid.style.setProperty("--columns", columns);
    this.grid.style.setProperty("--size", `${size}px`);
    this.grid.style.setProperty("--ratio", this.task.width / this.task.height);
  }
}
