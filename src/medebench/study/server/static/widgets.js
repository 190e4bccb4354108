// What the study's pages are made of beside the elements of all pages (dom.js, a script that modules import
// for what it leaves in `MB`).
import "./dom.js";

export const { $, el, fill } = window.MB;

// Like `fill`, but elements that are in place already are not touched: one that is taken out and put back
// loses the finger that is on it.
export const arrange = (element, ...children) => {
  const wanted = children.flat().filter(Boolean);
  const same = wanted.length === element.children.length && wanted.every((child, place) => child === element.children[place]);
  if (!same) element.replaceChildren(...wanted);
};

const SHAPES = {
  enlarge: "M9 3H3v6M15 3h6v6M9 21H3v-6M15 21h6v-6",
  flicker: "M4 8h13l-3.5-3.5M20 16H7l3.5 3.5",
  undo: "M8 5L3.5 9.5 8 14M4 9.5h10a5.5 5.5 0 0 1 0 11h-4",
  redo: "M16 5l4.5 4.5L16 14M20 9.5H10a5.5 5.5 0 0 0 0 11h4",
  list: "M4 6h4v4H4zM4 14h4v4H4zM12 8h8M12 16h8",
  check: "M4 12.5l5 5L20 6.5",
  out: "M14 4h6v16h-6M4 12h11M11 8l4 4-4 4",
};
const SVG = "http://www.w3.org/2000/svg";

export const icon = (name) => {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", SHAPES[name]);
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  svg.append(path);
  return svg;
};

// Read out by screen readers. The same words twice in a row must change the text to be heard.
let odd = false;
export const announce = (words) => {
  const live = $("live");
  if (!live) return;
  odd = !odd;
  live.textContent = words + (odd ? "" : "\u00a0");
};

export const clockTime = (iso) => new Date(iso).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

export const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
