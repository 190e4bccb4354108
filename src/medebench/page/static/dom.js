"use strict";
// Making elements. Texts come from strangers: they are only ever set as text.
window.MB = {};

// Children may come in arrays; what is nothing is left out.
MB.there = (children) => children.flat().filter((child) => child !== null && child !== undefined && child !== false);

MB.$ = (id) => document.getElementById(id);

MB.el = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...MB.there(children));
  return element;
};

MB.fill = (element, ...children) => element.replaceChildren(...MB.there(children));

MB.options = (select, pairs, chosen) => {
  MB.fill(select, ...pairs.map(([value, text]) => {
    const option = MB.el("option", { value, text });
    option.selected = String(value) === String(chosen);
    return option;
  }));
};

MB.dot = (run) => MB.el("span", {
  class: run.control ? "dot control" : "dot", "--c": `var(${run.colour})`, "aria-hidden": "true",
});

// A number as the tables print it.
MB.number = (score, value, signed = false) => {
  if (value === null || value === undefined) return "–";
  let text = value.toFixed(score.decimals);
  if (Number(text) === 0) text = text.replace("-", "");
  else if (signed && value > 0) text = "+" + text;
  return text.replace("-", "−");
};

MB.p = (value) => {
  if (value === null || value === undefined) return "–";
  return value < 0.001 ? "< 0.001" : value.toFixed(3);
};

// A text with some of its parts marked: [from, to, kind, words]; parts may overlap.
MB.marked = (text, marks = []) => {
  if (!marks.length) return [text];
  const letters = [...text]; // places are counted in whole characters
  const edges = [...new Set([0, letters.length, ...marks.flatMap(([from, to]) => [from, to])])].sort((a, b) => a - b);
  return edges.slice(0, -1).map((from, i) => {
    const part = letters.slice(from, edges[i + 1]).join("");
    const over = marks.filter(([start, stop]) => start <= from && stop >= edges[i + 1]);
    if (!over.length) return part;
    const words = over.map((one) => one[3]).filter(Boolean).join("; ");
    return MB.el("mark", { class: over.map((one) => `mark-${one[2]}`).join(" "), title: words || null, text: part });
  });
};

// A text, cut where it is long, with a button that shows all of it.
MB.long = (text, marks = [], most = 700) => {
  const box = MB.el("div", { class: "long" });
  const show = (all) => {
    const cut = all ? text : `${text.slice(0, most - 100).trimEnd()}…`;
    const inside = marks.filter(([from, to]) => from < cut.length && (all || to < most - 100));
    MB.fill(box, MB.el("span", {}, ...MB.marked(cut, inside)), MB.el("button", {
      type: "button", class: "quiet", "aria-expanded": String(all), onclick: () => show(!all),
      text: all ? "Show less" : `Show all ${text.length.toLocaleString("en")} characters`,
    }));
  };
  if (text.length > most) show(false);
  else box.append(...MB.marked(text, marks));
  return box;
};
