"use strict";
// Which cases are shown, and in what order.
MB.filters = (() => {
  const store = MB.store;
  const { runs, scores, cases, groups, byName, caseValue, has } = store;
  const $ = MB.$;
  const sorted = (texts) => texts.map((text, i) => [i, text]).sort((a, b) => a[1].localeCompare(b[1]));
  const any = (text) => [["", text]];
  // Editing accuracy tells outputs apart best; without a judge, the leading preservation does.
  const accuracy = scores.find((score) => /^(ea|intended)_/.test(score.name));
  const start = accuracy?.name ?? (byName.has(MB.headline()) ? MB.headline() : scores[0]?.name);

  const clear = () => {
    groups.forEach((names, i) => MB.options($(`f-group-${i}`), [...any("all"), ...sorted(names).map(([, text]) => [text, text])], ""));
    MB.options($("f-run"), [...any("any"), ...runs.map((run) => [run.index, run.name])], "");
    if ($("f-type")) MB.options($("f-type"), [...any("any"), ...store.typeNames], "");
    MB.options($("f-score"), scores.map((score) => [score.name, score.label]), start);
    for (const id of ["f-text", "f-low", "f-high"]) $(id).value = "";
    $("f-sort").value = runs.filter((run) => !run.control).length > 1 ? "disputed" : "worst";
  };
  clear();

  const hidden = new Set(); // runs that are switched off
  const boxes = runs.map((run) => {
    const box = MB.el("input", { type: "checkbox", checked: true, value: run.index });
    return MB.el("label", { class: "chip" }, box, MB.dot(run), run.name);
  });
  $("f-editors").append(...boxes);

  const haystack = new Map();
  const text = (one) => {
    if (!haystack.has(one)) {
      haystack.set(one, [one.key, ...one.texts.map((part) => part.text), ...one.groups].join("\n").toLowerCase());
    }
    return haystack.get(one);
  };

  // How far the models that are shown differ on a case.
  const dispute = (one, metric) => {
    const known = runs.filter((r) => !r.control && !hidden.has(r.index))
      .map((r) => caseValue(r.index, one.index, metric)).filter((value) => value !== null);
    return known.length > 1 ? Math.max(...known) - Math.min(...known) : null;
  };

  // The score of a case: of the chosen run, or the mean over the runs that are shown.
  const worth = (one, run, metric) => {
    if (run !== null) return caseValue(run, one.index, metric);
    const known = runs.filter((r) => !hidden.has(r.index))
      .map((r) => caseValue(r.index, one.index, metric)).filter((value) => value !== null);
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
  };

  const limit = (id) => ($(id).value.trim() === "" ? null : Number($(id).value));

  const apply = () => {
    const words = $("f-text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = groups.map((_, i) => $(`f-group-${i}`).value);
    const run = $("f-run").value === "" ? null : Number($("f-run").value);
    const metric = $("f-score").value;
    const type = $("f-type") ? $("f-type").value : "";
    const isType = (one, r) => store.outputs(r.index, one.index).some((output) => (store.found(r.index, one.index, output.k) || {}).type === type);
    const low = limit("f-low");
    const high = limit("f-high");
    const shown = runs.filter((one) => !hidden.has(one.index));
    const found = [];
    for (const one of cases) {
      if (wanted.some((name, i) => name && one.groups[i] !== name)) continue;
      if (run !== null && !has(run, one.index)) continue;
      if (run === null && !shown.some((r) => has(r.index, one.index))) continue;
      if (type && !(run === null ? shown : [runs[run]]).some((r) => isType(one, r))) continue;
      if (words.length && !words.every((word) => text(one).includes(word))) continue;
      const value = worth(one, run, metric);
      if ((low !== null && !(value !== null && value >= low)) || (high !== null && !(value !== null && value <= high))) continue;
      found.push([one, value]);
    }
    const up = byName.get(metric)?.better === "lower" ? -1 : 1;
    const sort = $("f-sort").value;
    const gaps = new Map(sort === "disputed" ? found.map(([one]) => [one, dispute(one, metric) ?? 0]) : []);
    const last = (value) => (value === null ? Infinity : value);
    const orders = {
      worst: (a, b) => last(a[1] === null ? null : up * a[1]) - last(b[1] === null ? null : up * b[1]),
      best: (a, b) => last(a[1] === null ? null : -up * a[1]) - last(b[1] === null ? null : -up * b[1]),
      missing: (a, b) => (a[1] === null ? 0 : 1) - (b[1] === null ? 0 : 1),
      disputed: (a, b) => last(a[1] === null ? null : -gaps.get(a[0])) - last(b[1] === null ? null : -gaps.get(b[0])),
      roi: (a, b) => (b[0].share ?? -1) - (a[0].share ?? -1),
    };
    // Two missing values compare as NaN, which would leave the order undefined.
    if (orders[sort]) found.sort((a, b) => orders[sort](a, b) || a[0].index - b[0].index);
    return found;
  };

  let waiting = 0;
  const changed = () => document.dispatchEvent(new CustomEvent("mb:filters"));
  $("filters").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(changed, 120); });
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", (event) => { event.preventDefault(); clear(); changed(); });
  $("f-editors").addEventListener("change", (event) => {
    const index = Number(event.target.value);
    if (event.target.checked) hidden.delete(index);
    else hidden.add(index);
    changed();
  });
  document.addEventListener("mb:headline", () => {
    if ($("f-score").value.startsWith("cp") && byName.has(MB.headline())) $("f-score").value = MB.headline();
    changed();
  });

  return {
    apply,
    metric: () => byName.get($("f-score").value) ?? { name: "", label: "score", better: "neither", decimals: 3 },
    shown: () => runs.filter((run) => !hidden.has(run.index)),
    chosen: () => ($("f-run").value === "" ? null : Number($("f-run").value)),
  };
})();
