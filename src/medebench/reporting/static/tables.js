"use strict";
// The tables of pairs and of groups, for the score that is chosen.
(() => {
  const { data, runs, scores, byName } = MB.store;
  const el = MB.el;
  const first = () => (byName.has(MB.headline()) ? MB.headline() : scores[0] && scores[0].name);
  const choices = scores.map((score) => [score.name, score.label]);
  const words = { higher: "higher is better", lower: "lower is better", neither: "neither is better" };
  const named = (run) => el("span", { class: "who" }, MB.dot(run), run.name);

  // Pairs
  const family = MB.$("pair-family");
  const pairScore = MB.$("pair-score");
  const only = MB.$("pair-only");
  const pairBasis = MB.$("pair-basis");

  const pairRow = (score, [a, b, difference, low, high, p, corrected, n, dropped, why]) => {
    const sure = corrected !== null && corrected <= 0.05;
    const good = difference === null || score.better === "neither" || difference === 0
      ? null : (difference > 0) === (score.better === "higher") ? a : b;
    const left = sure && good === a ? "winner" : null;
    const right = sure && good === b ? "winner" : null;
    const interval = low === null ? why || "–" : `${MB.number(score, low, true)} to ${MB.number(score, high, true)}`;
    return el("tr", { class: sure ? "sure" : "unsure" },
      el("th", { scope: "row", class: left }, named(runs[a])),
      el("td", { class: right }, named(runs[b])),
      el("td", { class: "n", text: MB.number(score, difference, true) }),
      el("td", { class: "n", text: interval }),
      el("td", { class: "n", text: MB.p(p) }),
      el("td", { class: "n", text: MB.p(corrected) }),
      el("td", { class: "n", text: dropped ? `${n} (${dropped} more not scored in both)` : String(n) }));
  };

  const showPairs = () => {
    if (!family) return;
    const score = byName.get(pairScore.value);
    const wanted = pairBasis ? pairBasis.value : "own";
    const block = data.pairs.find((one) => one.basis === wanted && one.metric === pairScore.value && one.family === family.value);
    const all = block ? block.rows : [];
    const rows = only.checked ? all.filter((row) => row[6] !== null && row[6] <= 0.05) : all;
    const heads = ["A", "B", "A − B", "95 % interval", "p", "p, corrected", "cases"];
    const body = rows.length ? rows.map((row) => pairRow(score, row))
      : [el("tr", {}, el("td", { colspan: 7, class: "empty", text: all.length ? "No pair is significantly different." : "There is no such pair." }))];
    MB.fill(MB.$("pairs"),
      el("thead", {}, el("tr", {}, ...heads.map((text, i) => el("th", { scope: "col", text, class: i > 1 ? "n" : null })))),
      el("tbody", {}, ...body));
    const sure = all.filter((row) => row[6] !== null && row[6] <= 0.05).length;
    MB.$("pair-note").textContent = score ? `${score.label}: ${words[score.better]}. ${sure} of ${all.length} pairs differ significantly (corrected p ≤ 0.05); in those the better run is bold.` : "";
  };

  // A report of one run has nothing to compare and no such section.
  if (family) {
    const families = [...new Set(data.pairs.map((one) => one.family))];
    const names = { models: "model against model", "against controls": runs.every((r) => r.control) ? "control against control" : "model against control" };
    MB.options(family, families.map((name) => [name, names[name] || name]), families[0]);
    MB.options(pairScore, choices, first());
    only.checked = false;
    if (pairBasis) pairBasis.value = data.basis === "asked" ? "asked" : "own";
    for (const input of [family, pairScore, only, pairBasis]) if (input) input.addEventListener("change", showPairs);
  }

  // Groups
  const groupScore = MB.$("group-score");
  const groupBasis = MB.$("group-basis");
  if (groupBasis) {
    groupBasis.value = data.basis;
    groupBasis.addEventListener("change", () => showGroups());
  }
  const finer = () => document.querySelector('input[name="finer"]:checked');
  for (const input of document.querySelectorAll('input[name="finer"]')) {
    input.checked = input.value === data.groups[0][1]; // a reload may have kept the other
    input.addEventListener("change", () => showGroups());
  }
  const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const luminance = (colour) => {
    const [r, g, b] = colour.map((c) => ((c / 255) <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ends = () => (MB.isDark() ? ["#20272f", "#5f8fd0", "#cfe6ff"] : ["#f4f7fb", "#7fb0d9", "#0b3c78"]).map(rgb);
  const colour = (share) => {
    const [low, middle, high] = ends();
    const [from, to, t] = share < 0.5 ? [low, middle, share * 2] : [middle, high, share * 2 - 1];
    return from.map((c, i) => Math.round(c + (to[i] - c) * t));
  };
  const paint = (share) => {
    const back = colour(share);
    const light = luminance(back);
    return [`rgb(${back.join(" ")})`, (light + 0.05) / 0.05 > 1.05 / (light + 0.05) ? "#000" : "#fff"];
  };

  const showGroups = () => {
    if (!groupScore) return; // nothing but scores of sets
    const score = byName.get(groupScore.value);
    const basis = groupBasis ? groupBasis.value : data.basis;
    const chosen = finer() ? finer().value : data.groups[0][1];
    const heads = data.groups.find(([, plural]) => plural === chosen)[2];
    const all = data.finer[chosen][basis];
    // A score of some kinds of work has nothing to say of the others.
    const there = all.rows.map((_, i) => i).filter((i) => all.cells[score.name][i].some((one) => one));
    const rows = there.map((i) => all.rows[i]);
    const grid = there.map((i) => all.cells[score.name][i]);
    const known = grid.flat().filter((cell) => cell && cell[0] !== null).map((cell) => cell[0]);
    const low = Math.min(...known);
    const high = Math.max(...known);
    const share = (value) => (high > low ? (value - low) / (high - low) : 0.5);
    const cell = (one, run, group) => {
      if (!one || one[0] === null) return el("td", { class: "heat none", text: "–", title: one ? one[4] : "no such case" });
      const [back, ink] = paint(share(one[0]));
      const interval = one[1] === null ? one[5] || "no interval" : `95 % interval ${MB.number(score, one[1])} to ${MB.number(score, one[2])}`;
      return el("td", { class: "heat", "--back": back, "--front": ink, title: `${group}, ${run.name}: ${interval}; ${one[4]}` },
        MB.number(score, one[0]), el("small", { text: String(one[3]) }));
    };
    MB.fill(MB.$("group-table"),
      el("thead", {}, el("tr", {}, el("th", { scope: "col", text: heads.join(" · ") }),
        ...runs.map((run) => el("th", { scope: "col", class: "heat" }, named(run))))),
      el("tbody", {}, ...rows.map((group, i) => el("tr", {}, el("th", { scope: "row", text: group }),
        ...grid[i].map((one, j) => cell(one, runs[j], group))))));
    // All organs at once; only many rows get a window of their own.
    MB.$("group-table").parentElement.classList.toggle("tall", rows.length > 24);
    const stops = [0, 0.25, 0.5, 0.75, 1].map((t) => paint(t)[0]).join(", ");
    MB.fill(MB.$("group-scale"), known.length ? MB.number(score, low) : "", el("i", { "--ramp": `linear-gradient(90deg, ${stops})` }),
      known.length ? MB.number(score, high) : "", el("span", { text: ` ${words[score.better]}` }));
  };

  if (groupScore) {
    MB.options(groupScore, choices, first());
    groupScore.addEventListener("change", showGroups);
  }
  const both = () => { showPairs(); showGroups(); };
  document.addEventListener("mb:theme", showGroups);
  document.addEventListener("mb:headline", () => {
    const other = MB.headline();
    for (const select of [pairScore, groupScore]) if (select && select.value.startsWith("cp")) select.value = other;
    both();
  });
  both();
})();
