"use strict";
// One page of edits; only what is on it is in the document.
MB.browse = (() => {
  const edits = MB.edits;
  const el = MB.el;
  const $ = MB.$;
  const PAGE = 24;
  let found = [];
  let page = 0;

  const tile = (one, name, key, masks) => el("button", {
    type: "button", class: "tile", "aria-label": `${name} of edit ${one.id}`, onclick: () => MB.looking.open(one, name),
  }, el("span", { class: "frame", "--ratio": `${one.size[0]} / ${one.size[1]}` },
    key ? el("img", { src: edits.small(one, key), alt: "", loading: "lazy", decoding: "async" }) : el("span", { class: "gone", text: "no picture" }),
    key && masks && one.masks ? el("img", { class: "outline", src: edits.outlines(one.masks), alt: "", loading: "lazy" }) : null),
  el("span", { class: "label", text: name }));

  const state = (one) => el("p", { class: `state ${one.status}` }, el("span", { class: "mark", text: edits.states[one.status] }),
    one.score === null ? null : el("span", { text: `edit score ${MB.number({ decimals: 3 }, one.score)}` }));

  const labels = ([before, after]) => (before === after ? before : `${before || "–"} → ${after || "–"}`);

  const row = (one) => el("article", { class: "row" },
    el("div", { class: "about" },
      el("h3", {}, el("a", { href: `#edit=${encodeURIComponent(one.id)}`, text: one.id })),
      state(one),
      one.kind ? el("p", { class: "sub", text: one.kind }) : null,
      labels(one.labels) ? el("p", { class: "sub", text: labels(one.labels) }) : null,
      el("p", { class: "prompt", dir: "auto", text: one.prompt }),
      one.why ? el("p", { class: "trouble", text: one.why }) : null,
      one.trouble ? el("p", { class: "trouble", text: one.trouble }) : null),
    el("div", { class: "tiles" }, tile(one, "before", one.before, true), tile(one, "after", one.after, false), tile(one, "difference", one.difference, false)),
    el("div", { class: "answers" }, ...MB.said.boxes(one)));

  const show = () => {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const part = found.slice(page * PAGE, (page + 1) * PAGE);
    MB.fill($("g-edits"), ...part.map(row));
    if (!part.length) MB.fill($("g-edits"), el("p", { class: "empty", text: edits.all.length ? "No edit matches. Clear a filter." : "There are no edits." }));
    $("g-count").textContent = `${found.length.toLocaleString("en")} of ${edits.all.length.toLocaleString("en")} edits`;
    $("g-page").textContent = `page ${page + 1} of ${pages}`;
    $("g-previous").disabled = page === 0;
    $("g-next").disabled = page >= pages - 1;
  };

  const masks = () => $("g-edits").classList.toggle("with-masks", $("g-masks").checked);
  const update = () => { found = MB.choosing.apply(); page = 0; show(); };
  const turn = (by) => { page += by; show(); $("filters").scrollIntoView({ block: "start" }); };
  $("g-previous").addEventListener("click", () => turn(-1));
  $("g-next").addEventListener("click", () => turn(1));
  $("g-masks").checked = true;
  $("g-masks").addEventListener("change", masks);
  document.addEventListener("mb:filters", update);
  masks();
  update();

  // Where an edit stands among those that are shown, or among all if it is none of them.
  const among = (one) => {
    const place = found.indexOf(one);
    return place < 0 ? [edits.all, one.index] : [found, place];
  };
  return {
    beside: (one, by) => { const [list, at] = among(one); return list[at + by] ?? null; },
    place: (one) => { const [list, at] = among(one); return `${(at + 1).toLocaleString("en")} of ${list.length.toLocaleString("en")}`; },
    labels,
    state,
  };
})();
