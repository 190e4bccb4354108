// Words across the top when something needs a person: one at a time.
import { $, el, fill } from "./widgets.js";

export const banner = (kind, title, lines = [], buttons = []) => {
  const box = $("banner");
  box.hidden = false;
  box.dataset.kind = kind;
  fill(box,
    el("div", { class: "words" }, el("strong", { text: title }), lines.map((line) => el("p", { dir: "auto", text: line }))),
    el("div", { class: "buttons" }, buttons.map(([text, act]) => el("button", { type: "button", text, onclick: act }))));
};

export const noBanner = (kind) => {
  const box = $("banner");
  if (!kind || box.dataset.kind === kind) {
    box.hidden = true;
    delete box.dataset.kind;
    fill(box);
  }
};
