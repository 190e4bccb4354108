"use strict";
// One edit, large: a slider between any two of its pictures, outlines, and what predictors said.
MB.looking = (() => {
  const edits = MB.edits;
  const el = MB.el;
  const $ = MB.$;
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
    large.slide();
  };

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
    $("edit-previous").disabled = !MB.browse.beside(one, -1);
    $("edit-next").disabled = !MB.browse.beside(one, 1);
    MB.fill($("edit-answers"), MB.browse.state(one), ...MB.said.boxes(one));
    strip(names);
    texts(one);
    draw();
  };

  const open = (one, picture = null) => {
    if (picture && picture !== "before") right = picture;
    render(one);
    large.show(one.id);
  };
  const step = (by) => { const next = shown && MB.browse.beside(shown, by); if (next) open(next); };
  const follow = (id) => { const one = edits.byId.get(id); if (one) open(one); };
  const large = MB.large("edit", { step, follow, closed: () => { shown = null; } });

  $("edit-a").addEventListener("change", () => { left = $("edit-a").value; draw(); });
  $("edit-b").addEventListener("change", () => { right = $("edit-b").value; draw(); });
  $("edit-over").addEventListener("change", () => { over = $("edit-over").value; draw(); });
  large.go();
  return { open };
})();
