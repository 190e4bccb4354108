"use strict";
// The data of the page, unpacked from its compact arrays (written by reporting/gallery.py).
MB.store = (() => {
  const data = window.MEDEBENCH_DATA;
  const packed = window.MEDEBENCH_CASES;
  const CHUNK = 50; // cases in one script of details, as in reporting/judge_details.py

  const runs = data.runs.map(([name, colour, control, sees, extent], index) => (
    { index, name, colour, control, sees, extent }));
  const scores = data.scores.map(([name, label, better, decimals, standIn, summary]) => (
    { name, label: standIn ? `${label} (stand-in)` : label, better, decimals, standIn, summary }));
  const byName = new Map(scores.map((score) => [score.name, score]));

  const cases = packed.cases.map((row, index) => ({
    index, key: row[0], groups: row[1].map((number, i) => packed.groups[i][number]),
    texts: row[2].map(([label, text, side, marks]) => ({ label, text, side, marks: marks || [] })).filter((one) => one.text),
    shots: row[3].map(([label, key, width, height, mark]) => ({ label, key, width, height, mark })),
    outline: row[4], width: row[5], height: row[6], share: row[7],
    trouble: row[8] === null ? "" : packed.reasons[row[8]], gives: row[9] || data.gives,
  }));
  const byKey = new Map(cases.map((one) => [one.key, one]));

  // places[run][case] = where the outputs of that case lie in the run's columns
  const places = packed.outputs.map((columns) => {
    const found = new Map();
    columns.case.forEach((number, place) => {
      if (found.has(number)) found.get(number).push(place);
      else found.set(number, [place]);
    });
    return found;
  });

  const output = (run, place) => {
    const columns = packed.outputs[run];
    const trouble = columns.trouble[place];
    return {
      run: runs[run], place, k: columns.k[place], picture: columns.picture[place], card: columns.card[place] || "",
      size: columns.size[place] || "", read: (columns.read || {})[place] || null,
      trouble: trouble === undefined ? "" : packed.reasons[trouble],
    };
  };

  // What was found about each output, where the runs were grounded.
  const typeNames = new Map(data.types ? data.types.names : []);
  const grounded = (packed.grounded || []).map((rows) => new Map(
    rows.map(([number, k, type, overlays]) => [`${number} ${k}`, { type, label: typeNames.get(type) || "no finding", overlays }])));
  const found = (run, number, k) => (grounded[run] && grounded[run].get(`${number} ${k}`)) || null;

  const outputs = (run, number) => (places[run].get(number) || []).map((place) => output(run, place));

  const value = (run, place, metric) => {
    const column = packed.outputs[run].values[metric];
    return column === undefined ? null : column[place];
  };

  // Whether any output of the case has this score, or a reason why not.
  const about = (number, metric) => runs.some(({ index }) => (places[index].get(number) || []).some((place) => (
    value(index, place, metric) !== null || (packed.outputs[index].why[metric] || {})[place] !== undefined)));

  const reason = (run, place, metric) => {
    const why = (packed.outputs[run].why[metric] || {})[place];
    return why === undefined ? "not scored" : packed.reasons[why];
  };

  // The mean over the outputs of a case, as in all tables.
  const caseValue = (run, number, metric) => {
    const known = (places[run].get(number) || [])
      .map((place) => value(run, place, metric)).filter((one) => one !== null);
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
  };

  const hasCards = (run) => packed.outputs[run].card.length > 0;
  const has = (run, number) => places[run].has(number);

  const chunks = new Map();
  const details = (one) => {
    const number = Math.floor(one.index / CHUNK);
    if (!chunks.has(number)) chunks.set(number, MB.load(`assets/details/${number}.js`, `MEDEBENCH_DETAILS_${number}`));
    return chunks.get(number).then((chunk) => chunk[one.key] || []);
  };

  return {
    data, runs, scores, cases, byName, byKey, groups: packed.groups,
    hasDetails: new Set(data.detailChunks), chunkOf: (one) => Math.floor(one.index / CHUNK),
    typeNames, found, outputs, value, about, reason, caseValue, has, hasCards, details,
  };
})();
