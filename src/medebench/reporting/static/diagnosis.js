"use strict";
// Types of failure by organ, for all models or one editor.
(() => {
  const { data, runs } = MB.store;
  const el = MB.el;
  const select = MB.$("type-run");
  if (!select || !data.types) return;
  const names = data.types.names;
  const models = runs.some((run) => !run.control);
  const heads = () => el("thead", {}, el("tr", {}, el("th", { scope: "col", text: "Organ" }),
    ...names.map(([kind, label]) => el("th", { scope: "col", class: "n" }, el("span", { class: "swatch", "--c": `var(--type-${kind})` }), label)),
    el("th", { scope: "col", class: "n", text: "no finding" }), el("th", { scope: "col", class: "n", text: "outputs" })));

  const cell = (count, total) => el("td", { class: count ? "n" : "n zero" }, String(count),
    count && total ? el("small", { text: ` ${Math.round((100 * count) / total)} %` }) : null);

  const row = (organ, counts) => {
    const none = counts[names.length];
    const known = counts.slice(0, -1).reduce((a, b) => a + b, 0);
    return el("tr", {}, el("th", { scope: "row", text: organ }), ...counts.slice(0, -1).map((count) => cell(count, known)),
      el("td", { class: none ? "n" : "n zero", text: String(none) }), el("td", { class: "n", text: String(known + none) }));
  };

  // data.types.counts: [run, organ, one count for each type and one for none]
  const show = () => {
    const wanted = select.value === "" ? (run) => !models || !runs[run].control : (run) => String(run) === select.value;
    const sums = new Map();
    for (const [run, organ, ...counts] of data.types.counts) {
      if (!wanted(run)) continue;
      const name = data.types.organs[organ];
      const sum = sums.get(name) || counts.map(() => 0);
      sums.set(name, sum.map((count, i) => count + counts[i]));
    }
    MB.fill(MB.$("type-organ-table"), heads(), el("tbody", {}, ...[...sums].sort((a, b) => a[0].localeCompare(b[0])).map(([organ, counts]) => row(organ, counts))));
  };
  const grounded = new Set(data.types.counts.map(([run]) => run));
  MB.options(select, [["", models ? "all models" : "all"], ...runs.filter((run) => grounded.has(run.index)).map((run) => [run.index, run.name])], "");
  select.addEventListener("change", show);
  show();
})();
