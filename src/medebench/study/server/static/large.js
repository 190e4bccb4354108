// One image or text, as large as the window, switched against the others; images keep place and zoom.
import { $, announce, el, fill, icon } from "./widgets.js";
import { isShifted, letterOf } from "./keys.js";
import { picture, words } from "./tiles.js";
import { whileHeld } from "./view.js";

export class Large {
  constructor(view, command) {
    this.view = view;
    this.dialog = $("large");
    this.stage = $("large-stage");
    view.attach(this.stage);
    new ResizeObserver(() => this.fit()).observe($("large-room"));
    $("large-close").addEventListener("click", () => this.dialog.close());
    fill($("large-hold"), icon("flicker"), "Hold: input");
    whileHeld($("large-hold"), (on) => this.flicker(on));
    this.dialog.addEventListener("close", () => this.flicker(false));
    this.dialog.addEventListener("keydown", (event) => this.key(event, command));
  }

  show(tiles, name) {
    const { names, task } = tiles;
    this.tiles = tiles;
    this.names = names;
    this.ratio = task.width / task.height || 1;
    fill($("large-tabs"), names.map((one) => el("button", { type: "button", "data-name": one, text: tiles.label(one), "aria-label": `Show ${tiles.describe(one)}`, onclick: () => this.turn(one) })));
    fill(this.stage,
      el("div", { class: "layer" }, names.filter((one) => tiles.hasImage(one)).map((one) => picture(tiles.source(one), tiles.describe(one), { "data-name": one })),
        [...new Set(names.map((one) => tiles.outline(one)))].filter(Boolean).map((one) => picture(tiles.source(one), "", { class: "outline", "data-outline": one }))),
      el("span", { class: "mark", "aria-hidden": "true" }));
    this.turn(name);
    if (!this.dialog.open) this.dialog.showModal();
    this.fit();
    $("large-tabs").querySelector("[aria-pressed=true]").focus();
  }

  turn(name) {
    this.name = name;
    const { tiles } = this;
    for (const button of $("large-tabs").children) button.setAttribute("aria-pressed", button.dataset.name === name);
    $("large-hold").hidden = !tiles.task.flicker || !tiles.isOutput(name);
    this.stage.hidden = !tiles.hasImage(name);
    fill($("large-words"), tiles.isOutput(name) && tiles.reads ? words(tiles.text(name), `Text of output ${name}`) : null);
    $("large-words").hidden = !$("large-words").children.length;
    this.draw(name);
    this.fit();
    announce(`Showing ${tiles.describe(name)}`);
  }

  draw(name) {
    const outline = this.tiles.outline(name);
    for (const image of this.stage.querySelectorAll("img[data-name]")) image.classList.toggle("on", image.dataset.name === name);
    for (const image of this.stage.querySelectorAll("img[data-outline]")) image.classList.toggle("off", image.dataset.outline !== outline);
    this.stage.querySelector(".mark").textContent = this.tiles.label(name);
  }

  flicker(on) { if (this.names) this.draw(on && this.tiles.task.flicker ? "previous" : this.name); }

  step(by) {
    const place = this.names.indexOf(this.name);
    this.turn(this.names[(place + by + this.names.length) % this.names.length]);
  }

  fit() {
    const room = $("large-room");
    if (!this.dialog.open) return;
    const share = $("large-words").hidden ? 1 : 0.6;
    const wide = room.clientWidth > room.clientHeight;
    const width = Math.min(room.clientWidth * (wide ? share : 1), room.clientHeight * (wide ? 1 : share) * this.ratio);
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
