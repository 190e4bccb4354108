"use strict";
// Making elements. Texts come from strangers: they are only ever set as text.
window.MB = {};

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
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

MB.fill = (element, ...children) => element.replaceChildren(...children.filter(Boolean));

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
