// One picture, as large as the window, switched against the others at the same place and zoom.
import { $, announce, el, fill, icon } from "./dom.js";
import { isShifted, letterOf } from "./keys.js";
import { picture, pictureName, pictureWords } from "./tiles.js";
import { whileHeld } from "./view.js";

export class Large {
  constructor(view, command) {
    this.view = view;
    this.dialog = $("large");
    this.stage = $("large-stage");
    view.attach(this.stage);
    new ResizeObserver(() => this.fit()).observe($("large-room"));
    $("large-close").addEventListener("click", () => this.dialog.close());
    fill($("large-hold"), icon("flicker"), "Hold: previous");
    whileHeld($("large-hold"), (on) => this.flicker(on));
    this.dialog.addEventListener("close", () => this.flicker(false));
    this.dialog.addEventListener("keydown", (event) => this.key(event, command));
  }

  show(tiles, name) {
    const { names, task } = tiles;
    this.names = names;
    this.ratio = task.width / task.height;
    fill($("large-tabs"), names.map((one) => el("button", { type: "button", "data-name": one, text: pictureName(one), "aria-label": `Show ${pictureWords(one)}`, onclick: () => this.turn(one) })));
    fill(this.stage,
      el("div", { class: "layer" }, names.map((one) => picture(tiles.source(one), pictureWords(one), { "data-name": one })),
        task.outline ? picture(tiles.source("outline"), "", { class: "outline" }) : null),
      el("span", { class: "mark", "aria-hidden": "true" }));
    this.turn(name);
    if (!this.dialog.open) this.dialog.showModal();
    this.fit();
    $("large-tabs").querySelector("[aria-pressed=true]").focus();
  }

  turn(name) {
    this.name = name;
    for (const button of $("large-tabs").children) button.setAttribute("aria-pressed", button.dataset.name === name);
    $("large-hold").hidden = ["previous", "reference"].includes(name);
    this.draw(name);
    announce(`Showing ${pictureWords(name)}`);
  }

  draw(name) {
    for (const image of this.stage.querySelectorAll("img[data-name]")) image.classList.toggle("on", image.dataset.name === name);
    this.stage.querySelector(".mark").textContent = pictureName(name);
  }

  flicker(on) { if (this.names) this.draw(on ? "previous" : this.name); }

  step(by) {
    const place = this.names.indexOf(this.name);
    this.turn(this.names[(place + by + this.names.length) % this.names.length]);
  }

  fit() {
    const room = $("large-room");
    if (!this.dialog.open) return;
    const width = Math.min(room.clientWidth, room.clientHeight * this.ratio);
    this.stage.style.width = `${width}px`;
    this.stage.style.height = `${width / this.ratio}px`;
  }

  // `command(event)`: what the panel's keys mean here too (zoom, outline, flicker, close).
  key(event, command) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const letter = letterOf(event);
    if (event.key === "ArrowLeft") this.step(-1);
    else if (event.key === "ArrowRight") this.step(1);
    else if (this.names.includes(letter) && !isShifted(event, letter)) this.turn(letter);
    else if (!command(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }
}
