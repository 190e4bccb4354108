"use strict";
// One edit, large: a slider between any two of its pictures, outlines, and what predictors said.
MB.looking = (() => {
  const edits = MB.edits;
  const el = MB.el;
  const $ = MB.$;
  const dialog = $("edit");
  const NAMES = ["before", "after", "difference", "as it should be"];
  let shown = null;
  let keys = [];
  // What was chosen stays chosen from one edit to the next.
  let left = "before";
  let right = "after";
  let over = "masks";

  const outline = () => {
    if (over === "masks") return shown.masks;
    const place = edits.predictors.findIndex((_, i) => over === `p${i}`);
    return place >= 0 && shown.predicted ? shown.predicted[place] : null;
  };

  const draw = () => {
    const layer = (name, side) => {
      const key = keys[NAMES.indexOf(name)];
      if (!key) return el("span", { class: `gone ${side}`, text: name === "before" || !shown.why ? "no picture" : shown.why });
      return el("img", { class: side, src: edits.large(key), alt: name });
    };
    const line = outline();
    $("edit-view").style.setProperty("--ratio", shown.size[0] / shown.size[1]);
    MB.fill($("edit-view"), layer(left, "left"), layer(right, "right"),
      line ? el("img", { class: "over", src: edits.outlines(line), alt: "outlines" }) : null,
      el("span", { class: "tag left", text: left }), el("span", { class: "tag right", text: right }),
      el("span", { class: "line", "aria-hidden": "true" }));
    for (const button of $("edit-strip").children) button.setAttribute("aria-pressed", button.dataset.name === right);
    slide();
  };
  const slide = () => $("edit-view").style.setProperty("--cut", `${$("edit-slider").value}%`);

  const strip = (names) => MB.fill($("edit-strip"), ...names.map((name) => el("button", {
    type: "button", "data-name": name, "aria-label": `Show ${name} on the right`,
    onclick: () => { right = name; $("edit-b").value = name; draw(); },
  }, el("img", { src: edits.small(shown, keys[NAMES.indexOf(name)]), alt: "" }), el("span", { class: "label", text: name }))));

  const percent = (value) => (value === null ? null : `${(100 * value).toFixed(1)} %`);
  const changes = ([may, keep, rest]) => [[may, "where it may change"], [keep, "where it must stay"], [rest, "elsewhere"]]
    .filter(([value]) => value !== null).map(([value, text]) => `${percent(value)} ${text}`).join(", ");

  const texts = (one) => {
    const pairs = [["Should show", one.prompt], ["Showed", one.caption], ["True", MB.browse.labels(one.labels)], ["Kind", one.kind],
      ["Not used", one.why], ["Mean change, of the range", one.changes ? changes(one.changes) : ""], ["Masks", edits.masks(one)],
      ["Picture", one.sample === one.id ? "" : one.sample], ["Group", one.group ?? ""], ["Size", one.before ? one.size.join(" × ") : ""],
      ["File", one.output ?? ""], ["Trouble", one.trouble]];
    MB.fill($("edit-texts"), ...pairs.filter(([, text]) => text).flatMap(([name, text]) => [el("dt", { text: name }), el("dd", { dir: "auto", text })]));
  };

  const render = (one) => {
    shown = one;
    keys = [one.before, one.after, one.difference, one.wanted];
    const names = NAMES.filter((_, place) => keys[place]);
    const choices = names.map((name) => [name, name]);
    if (!names.includes(left)) left = "before";
    if (!names.includes(right)) right = names.includes("after") ? "after" : "before";
    MB.options($("edit-a"), choices, left);
    MB.options($("edit-b"), choices, right);
    const lines = [["", "none"], ...(one.masks ? [["masks", "edit mask solid, keep mask dashed"]] : []),
      ...(one.predicted ?? []).flatMap((key, place) => (key ? [[`p${place}`, `${edits.predictors[place].name} solid, truth dotted`]] : []))];
    MB.options($("edit-over"), lines, lines.some(([value]) => value === over) ? over : "");
    $("edit-title").textContent = one.id;
    $("edit-place").textContent = MB.browse.place(one);
    $("edit-link").href = `#edit=${encodeURIComponent(one.id)}`;
    $("edit-previous").disabled = !MB.browse.beside(one, -1);
    $("edit-next").disabled = !MB.browse.beside(one, 1);
    MB.fill($("edit-answers"), MB.browse.state(one), ...MB.said.boxes(one));
    strip(names);
    texts(one);
    draw();
  };

  const open = (one, picture = null) => {
    const hash = `#edit=${encodeURIComponent(one.id)}`;
    if (location.hash !== hash) history.replaceState(null, "", hash);
    if (picture && picture !== "before") right = picture;
    render(one);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  };
  const step = (by) => { const next = shown && MB.browse.beside(shown, by); if (next) open(next); };

  const follow = () => {
    const match = /^#edit=(.*)$/.exec(location.hash);
    if (!match) { if (dialog.open) dialog.close(); return; }
    let id = match[1];
    try { id = decodeURIComponent(id); } catch { /* not encoded: take it as it is */ }
    const one = edits.byId.get(id);
    if (one) open(one);
  };

  $("edit-a").addEventListener("change", () => { left = $("edit-a").value; draw(); });
  $("edit-b").addEventListener("change", () => { right = $("edit-b").value; draw(); });
  $("edit-over").addEventListener("change", () => { over = $("edit-over").value; draw(); });
  $("edit-slider").addEventListener("input", slide);
  const drag = (event) => {
    if (!event.buttons) return;
    const box = $("edit-view").getBoundingClientRect();
    $("edit-slider").value = 100 * (event.clientX - box.left) / box.width;
    slide();
  };
  for (const name of ["pointerdown", "pointermove"]) $("edit-view").addEventListener(name, drag);
  $("edit-previous").addEventListener("click", () => step(-1));
  $("edit-next").addEventListener("click", () => step(1));
  $("edit-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => {
    shown = null;
    if (location.hash.startsWith("#edit=")) history.replaceState(null, "", "#gallery");
  });
  dialog.addEventListener("keydown", (event) => {
    // In a slider or a list the arrows keep their own meaning.
    if (["INPUT", "SELECT"].includes(event.target.tagName) || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowLeft") { step(-1); event.preventDefault(); }
    if (event.key === "ArrowRight") { step(1); event.preventDefault(); }
  });
  window.addEventListener("hashchange", follow);
  follow();
  return { open };
})();
