"use strict";
// What each predictor said about an edit, before and after.
MB.said = (() => {
  const { data, predictors, classifies } = MB.edits;
  const el = MB.el;
  const percent = (value) => `${100 * Math.min(Math.max(value, 0), 1)}%`;

  const verdict = (one, when, place) => {
    if (one.right) {
      const right = one.right[when][place];
      if (right === null) return el("span");
      return el("span", { class: right ? "right" : "wrong", text: right ? "✓ right" : "✗ wrong" });
    }
    const [before, after] = [one.said[0][place], one.said[1][place]];
    if (classifies || !when || before === null || after === null) return el("span");
    const lost = before - after;
    const text = `${lost < 0 ? "+" : "−"}${Math.abs(lost).toFixed(3)}`;
    return el("span", { class: lost > data.lost ? "wrong" : "right", text: lost > data.lost ? `✗ ${text}` : text });
  };

  const line = (one, predictor, place, when) => {
    const value = one.said[when][place];
    return el("div", { class: "said" }, el("span", { text: when ? "after" : "before" }),
      el("span", { class: predictor.control ? "track control" : "track", "--c": `var(${predictor.colour})`, "--v": percent(value ?? 0), "--cut": percent(predictor.cutoff), "aria-hidden": "true" },
        el("i"), classifies ? el("b") : null),
      el("span", { class: "value", text: value === null ? "–" : value.toFixed(classifies ? 2 : 3) }),
      verdict(one, when, place));
  };

  const boxes = (one) => predictors.map((predictor, place) => el("div", { class: "answer" },
    el("h4", {}, MB.dot(predictor), predictor.name), line(one, predictor, place, 0), line(one, predictor, place, 1)));
  return { boxes };
})();
