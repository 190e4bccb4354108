"use strict";
// Loss curves as small drawings: steps to the right, the logarithm of the loss upwards.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const svg = (tag, properties, ...children) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const WIDE = 320, HIGH = 150, LEFT = 40, BOTTOM = 20, TOP = 6, RIGHT = 6;

  const ticks = (low, high) => {
    const found = [];
    for (let power = Math.floor(low); power <= Math.ceil(high); power += 1) {
      for (const part of [1, 2, 5]) {
        const at = power + Math.log10(part);
        if (at >= low && at <= high) found.push(at);
      }
    }
    return found.length > 6 ? found.filter((at) => Math.abs(at - Math.round(at)) < 1e-9) : found;
  };

  // lines: [{steps, losses, colour, faint}]; `most`: the last step of the axis.
  MB.lossChart = (lines, most, label) => {
    const logs = lines.flatMap((line) => line.losses.filter((y) => y > 0).map(Math.log10));
    if (!logs.length) return MB.el("p", { class: "none", text: "no loss yet" });
    let low = Math.min(...logs), high = Math.max(...logs);
    const room = Math.max(0.08, 0.06 * (high - low));
    low -= room; high += room;
    const x = (step) => LEFT + (WIDE - LEFT - RIGHT) * step / Math.max(1, most);
    const y = (log) => TOP + (HIGH - TOP - BOTTOM) * (high - log) / (high - low);
    const drawn = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": label, class: "loss" });
    for (const at of ticks(low, high)) {
      drawn.append(
        svg("line", { x1: LEFT, x2: WIDE - RIGHT, y1: y(at), y2: y(at), class: "rule" }),
        svg("text", { x: LEFT - 5, y: y(at) + 3, "text-anchor": "end" }, String(Number((10 ** at).toPrecision(1)))),
      );
    }
    for (const [step, anchor] of [[0, "start"], [most, "end"]]) {
      drawn.append(svg("text", { x: x(step), y: HIGH - 5, "text-anchor": anchor }, `${step.toLocaleString("en")}${step ? (step === 1 ? " step" : " steps") : ""}`));
    }
    for (const line of lines) {
      const points = line.steps.map((step, i) => [x(step), line.losses[i]]).filter((one) => one[1] > 0);
      const path = points.map(([a, loss]) => `${a.toFixed(1)},${y(Math.log10(loss)).toFixed(1)}`).join(" ");
      drawn.append(svg("polyline", {
        points: path, fill: "none", stroke: `var(${line.colour})`, "stroke-width": line.faint ? 1 : 1.8,
        "stroke-opacity": line.faint ? 0.6 : 1, "stroke-linejoin": "round", ...(line.dashed ? { "stroke-dasharray": "3 2" } : {}),
      }));
    }
    return drawn;
  };
})();
