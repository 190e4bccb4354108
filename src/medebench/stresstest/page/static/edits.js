"use strict";
// Every edit as an object, and where its pictures lie.
MB.edits = (() => {
  const data = window.MEDEBENCH_STRESS;
  const all = data.edits.map((edit, index) => ({
    kind: "", prompt: "", caption: "", why: "", trouble: "", sample: edit.id, score: null, labels: ["", ""], size: [1, 1],
    predicted: null, changes: null, right: null, ...edit, index,
  }));
  return {
    all,
    data,
    predictors: data.predictors,
    classifies: data.task === "classification",
    byId: new Map(all.map((one) => [one.id, one])),
    kinds: [...new Set(all.map((one) => one.kind))].sort((a, b) => a.localeCompare(b)),
    large: (key) => `assets/pictures/${key}.webp`,
    // A picture that is small already has no smaller twin.
    small: (one, key) => `assets/${Math.max(...one.size) > data.small ? "small" : "pictures"}/${key}.webp`,
    outlines: (key) => `assets/outlines/${key}.svg`,
    states: { kept: "kept", thrown: "discarded", failed: "failed" },
    // Which masks an edit was made with, in words.
    masks: (one) => {
      const [may, keep] = one.has;
      if (may && keep) return "edit mask and keep mask";
      if (may) return "an edit mask, nothing to keep";
      return keep ? "a keep mask; the rest may change" : "none: everything may change";
    },
  };
})();
