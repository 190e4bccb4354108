"use strict";
// One page of cases; only what is on it is in the document.
MB.gallery = (() => {
  const store = MB.store;
  const el = MB.el;
  const $ = MB.$;
  const PAGE = 24;
  const SNIPPET = 700; // characters of an output that a tile may show
  let found = [];
  let page = 0;

  // Pictures have no source until their case comes near the screen and their kind is asked for.
  const picture = (kind, key, name) => el("img", { class: name, alt: "", decoding: "async", "data-kind": kind, "data-key": key });
  const layers = (one, shot, changed) => {
    const ratio = shot.width && shot.height ? `${shot.width} / ${shot.height}` : "1";
    const lines = shot.mark || (shot.width === one.width && shot.height === one.height ? one.outline : "");
    return el("span", { class: "frame", "--ratio": ratio },
      shot.key ? picture("small", shot.key) : el("span", { class: "gone", text: "no picture" }),
      changed && shot.key ? picture("change", shot.key, "change") : null,
      lines && shot.key ? picture("lines", lines, "outline") : null);
  };

  const tile = (one, run, name, properties, ...children) => el("button", {
    type: "button", "aria-label": name, onclick: () => MB.caseView.open(one, run), ...properties,
  }, ...children);
  const plainTile = (one, shot) => tile(one, null, `${shot.label} of case ${one.key}`, { class: "tile" },
    layers(one, shot, false), el("span", { class: "label", text: shot.label }));
  const textTile = (one, { label, text, marks }) => tile(one, null, `${label} of case ${one.key}`, { class: "tile expected" },
    el("span", { class: "snippet", dir: "auto" }, ...MB.marked(text, marks)), el("span", { class: "label", text: label }));

  const hasTexts = store.data.gives.includes("text") || store.runs.some((run) => store.hasCards(run.index));

  const outputTile = (one, run, metric) => {
    const outputs = store.outputs(run.index, one.index);
    if (!outputs.length) return null;
    const [first] = outputs;
    const images = one.gives.includes("image");
    const value = store.caseValue(run.index, one.index, metric.name);
    const about = store.about(one.index, metric.name);
    const readAs = { right: "right", wrong: "wrong", unread: "not readable" };
    const more = outputs.length > 1 ? ` ×${outputs.length}` : "";
    const score = !about ? el("span", { class: `value read ${first.read ? first.read[0] : ""}`, text: first.read ? readAs[first.read[0]] : "" })
      : value === null ? el("span", { class: "value none", text: "no score", title: store.reason(run.index, first.place, metric.name) })
      : el("span", { class: "value", text: MB.number(metric, value) });
    const name = `${run.name}, case ${one.key}, ${metric.label} ${value === null ? "missing" : MB.number(metric, value)}`;
    const text = first.card ? el("span", { class: "snippet", dir: "auto", "data-card": first.card })
      : !images && first.trouble ? el("span", { class: "snippet none", text: first.trouble }) : null;
    return tile(one, run.index, name, { class: "tile", title: first.trouble || run.name },
      images ? layers(one, { key: first.picture, width: one.width, height: one.height }, true) : null, text,
      el("span", { class: "label" }, MB.dot(run), el("span", { class: "run", text: run.name + more })), score);
  };

  // What was asked: the first text without its label, which says nothing new.
  const asked = (one) => one.texts.filter(({ side }) => side === "case").flatMap(({ label, text, marks }, i) => [
    i ? el("p", { class: "sub", text: label }) : null, el("p", { class: "prompt", dir: "auto" }, ...MB.marked(text, marks))]);

  // Images stay small; texts need room, and stand below them.
  const tiles = (one, outputs) => {
    const shots = one.shots.map((shot) => plainTile(one, shot));
    if (!hasTexts) return el("div", { class: "tiles" }, ...shots, ...outputs);
    const expected = one.texts.filter(({ side }) => side === "reference").map((text) => textTile(one, text));
    return el("div", {}, shots.length ? el("div", { class: "tiles inputs" }, ...shots) : null, el("div", { class: "tiles wordy" }, ...expected, ...outputs));
  };

  const row = (one, metric, runs) => el("article", { class: "case", "data-number": one.index },
    el("div", { class: "about" },
      el("h3", {}, el("a", { href: `#case=${encodeURIComponent(one.key)}`, text: one.key })),
      el("p", { class: "sub", text: one.groups.join(" · ") }),
      ...asked(one),
      one.trouble ? el("p", { class: "trouble", text: one.trouble }) : null),
    tiles(one, runs.map((run) => outputTile(one, run, metric))));

  const reveal = (article) => {
    const on = { small: true, lines: $("g-outline").checked, change: $("g-change").checked };
    for (const image of article.querySelectorAll("img[data-key]")) {
      const { kind, key } = image.dataset;
      if (!on[kind]) continue;
      image.removeAttribute("data-key");
      MB.packs.show(image, kind, Number(article.dataset.number), key);
    }
    for (const text of article.querySelectorAll("[data-card]")) {
      const key = text.dataset.card;
      text.removeAttribute("data-card");
      MB.packs.card(Number(article.dataset.number), key).then(({ texts }) => {
        if (texts.length === 1) MB.fill(text, ...MB.marked(texts[0][1].slice(0, SNIPPET), (texts[0][2] || []).filter(([, to]) => to <= SNIPPET)));
        else text.textContent = texts.map(([, words]) => words).join("\n\n").slice(0, SNIPPET);
      });
    }
  };
  const near = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) near.delete(target);
      else { near.add(target); reveal(target); }
    }
  }, { rootMargin: "800px" });

  const overlays = () => {
    for (const [id, name] of [["g-outline", "outline"], ["g-change", "change"]]) $("g-cases").classList.toggle(`with-${name}`, $(id).checked);
    near.forEach(reveal);
    $("g-scale").hidden = !$("g-change").checked;
  };

  const show = () => {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const metric = MB.filters.metric();
    const chosen = MB.filters.chosen();
    const runs = MB.filters.shown().filter((run) => chosen === null || run.index === chosen);
    const part = found.slice(page * PAGE, (page + 1) * PAGE);
    watcher.disconnect();
    near.clear();
    MB.fill($("g-cases"), ...part.map(([one]) => row(one, metric, runs)));
    for (const article of $("g-cases").children) watcher.observe(article);
    if (!part.length) MB.fill($("g-cases"), el("p", { class: "empty", text: "No case matches. Clear a filter." }));
    $("g-count").textContent = `${found.length.toLocaleString("en")} of ${store.cases.length.toLocaleString("en")} cases`;
    $("g-page").textContent = `page ${page + 1} of ${pages}`;
    $("g-previous").disabled = page === 0;
    $("g-next").disabled = page >= pages - 1;
    overlays();
  };

  const update = () => { found = MB.filters.apply(); page = 0; show(); };
  const turn = (by) => { page += by; show(); $("filters").scrollIntoView({ block: "start" }); };
  $("g-previous").addEventListener("click", () => turn(-1));
  $("g-next").addEventListener("click", () => turn(1));
  for (const id of ["g-outline", "g-change"]) { $(id).checked = false; $(id).addEventListener("change", overlays); }
  document.addEventListener("mb:filters", update);
  update();

  // The case before or after another one in the order that is shown.
  const beside = (one, by) => {
    const place = found.findIndex(([other]) => other === one);
    const list = place < 0 ? store.cases : found.map(([other]) => other);
    const at = place < 0 ? one.index : place;
    return list[at + by] || null;
  };
  return { beside };
})();
