"use strict";
// One case, large: its texts, a slider between any two pictures, all scores, and why some are missing.
MB.caseView = (() => {
  const store = MB.store;
  const el = MB.el;
  const $ = MB.$;
  const dialog = $("case");
  const overlay = $("case-overlay"); // only where something was grounded
  let shown = null;
  let pictures = [];
  let outputs = [];

  const collect = (one) => {
    outputs = store.runs.flatMap((run) => store.outputs(run.index, one.index).map((output) => ({
      name: output.k ? `${run.name}, output ${output.k + 1}` : run.name,
      key: output.picture, output, run, found: store.found(run.index, one.index, output.k),
      width: one.width, height: one.height,
    })));
    const shots = one.shots.map((shot) => ({ name: shot.label, ...shot }));
    return [...shots, ...outputs.filter(({ key }) => key || one.gives.includes("image"))];
  };

  const show = (kind, key, properties) => {
    const image = el("img", properties);
    MB.packs.show(image, kind, shown.index, key);
    return image;
  };

  const draw = () => {
    const [a, b] = [pictures[$("case-a").value], pictures[$("case-b").value]];
    const change = $("case-change").checked;
    const grid = shown.width ? shown : a && a.width ? a : { width: 1, height: 1 };
    const layer = (picture, side) => {
      if (!picture || !picture.key) {
        return el("span", { class: `gone ${side}`, text: picture && picture.output ? picture.output.trouble : "no picture" });
      }
      const kind = change && picture.output ? "change" : MB.packs.large(picture);
      const fits = picture.width === grid.width && picture.height === grid.height;
      return show(kind, picture.key, { class: fits ? side : `${side} whole`, alt: `${picture.name}${kind === "change" ? ", change map" : ""}` });
    };
    const overlayOf = (picture) => (overlay && !change && picture && picture.found ? picture.found.overlays[overlay.value] : null);
    const over = (picture, side) => {
      const key = overlayOf(picture);
      return key ? show("lines", key, { class: `over ${side}`, alt: "" }) : null;
    };
    const tag = (picture) => (picture ? picture.name + (overlayOf(picture) ? `, ${overlay.value}` : "") : "");
    const view = $("case-view");
    view.style.setProperty("--ratio", grid.width / grid.height);
    MB.fill(view, layer(a, "left"), over(a, "left"), layer(b, "right"), over(b, "right"),
      $("case-outline").checked && shown.outline ? show("lines", shown.outline, { class: "outline", alt: "" }) : null,
      el("span", { class: "tag left", text: tag(a) }), el("span", { class: "tag right", text: tag(b) }),
      el("span", { class: "line", "aria-hidden": "true" }));
    for (const button of $("case-strip").children) button.setAttribute("aria-pressed", button.dataset.place === $("case-b").value);
    large.slide();
  };

  const strip = () => MB.fill($("case-strip"), ...pictures.map((picture, place) => el("button", {
    type: "button", "data-place": place, title: picture.name, "aria-label": `Show ${picture.name} on the right`,
    onclick: () => { $("case-b").value = place; draw(); },
  }, picture.key ? show("small", picture.key, { alt: "" }) : el("span", { class: "gone", text: "–" }),
  el("span", { class: "label" }, picture.run ? MB.dot(picture.run) : null, picture.name))));

  const texts = (one) => {
    const editing = Boolean($("case-outline").dataset.roi);
    const share = one.share === null ? (editing ? "no ROI" : "") : `${(100 * one.share).toFixed(1)} % of the frame`;
    const size = one.width ? `${one.width} × ${one.height}` : editing ? "unknown" : "";
    const pairs = [...one.texts.filter(({ side }) => side !== "reference" || !worded).map(({ label, text, marks }) => [label, text, marks]),
      ...store.data.groups.map(([label], i) => [label, one.groups[i]]), ["ROI", share], ["Size", size], ["Trouble", one.trouble]];
    MB.fill($("case-texts"), ...pairs.filter(([, text]) => text).flatMap(([name, text, marks]) => [el("dt", { text: name }), el("dd", { dir: "auto" }, MB.long(text, marks))]));
  };

  // Texts that are to be compared: what was expected, and what came out.
  const worded = store.data.gives.includes("text") || store.runs.some((run) => store.hasCards(run.index));
  const figure = (image) => el("figure", {}, show(MB.packs.large(image), image.key, { alt: image.label, loading: "lazy" }), el("figcaption", { text: image.label }));
  const answer = (head, parts) => el("div", { class: "answer" }, el("h3", {}, ...head), ...parts);
  // What was wanted, with what one of the outputs does not say marked in it.
  const expected = (one, output = null, wanted = []) => one.texts.filter(({ side }) => side === "reference")
    .map(({ label, text, marks }) => {
      const own = wanted.filter(([name]) => name === label).flatMap(([, found]) => found);
      const head = own.length ? [`${label}, beside `, MB.dot(output.run), output.name] : [label];
      const block = answer(head, [el("div", { dir: "auto" }, MB.long(text, own.length ? own : marks))]);
      block.classList.add("expected");
      return block;
    });
  const WORDS = { right: "right", wrong: "wrong", unread: "could not be read" };
  const readAs = ([kind, status, letter]) => el("p", { class: `read ${kind}` },
    el("b", { text: WORDS[kind] }), kind === "unread" ? `: ${status.replaceAll("_", " ")}` : letter ? `: read as ${letter}` : "");
  const answers = (one) => {
    const box = $("case-answers");
    if (!worded) { MB.fill(box); return; }
    const beside = el("div", { class: "wanted" }, ...expected(one));
    let first = true;
    const blocks = outputs.map((picture) => {
      const { run, name, output } = picture;
      const block = answer([MB.dot(run), name], [output.read ? readAs(output.read) : null, el("p", { class: "trouble", text: output.card || (!output.trouble && !one.gives.includes("text")) ? "" : output.trouble || "no text" })]);
      if (output.card) MB.packs.card(one.index, output.card).then(({ texts: all, images, wanted }) => {
        if (shown !== one) return;
        block.lastChild.remove();
        block.append(...all.flatMap(([label, text, marks]) => [
          all.length > 1 ? el("p", { class: "sub", text: label }) : null, el("div", { dir: "auto" }, MB.long(text, marks))]).filter(Boolean),
        ...images.map(figure));
        if (!wanted.length) return;
        const compare = () => {
          MB.fill(beside, ...expected(one, picture, wanted));
          for (const other of box.querySelectorAll(".compare")) other.setAttribute("aria-pressed", String(other === button));
        };
        const button = el("button", { type: "button", class: "quiet compare", text: "Compare", title: "Mark what the reference says and this does not", "aria-pressed": "false", onclick: compare });
        block.firstChild.append(button);
        if (first) { first = false; compare(); }
      });
      return block;
    });
    MB.fill(box, beside.children.length ? beside : null, ...blocks);
  };

  const scoreCell = (picture, score) => {
    const { run, output } = picture;
    const value = store.value(run.index, output.place, score.name);
    if (value !== null) return el("td", { class: "n", text: MB.number(score, value) });
    return el("td", { class: "n why" }, "–", el("small", { text: store.reason(run.index, output.place, score.name) }));
  };

  const findingCell = ({ found, run, output }) => el("td", { class: "finding-cell" },
    found ? el("span", {}, found.type ? el("span", { class: "swatch", "--c": `var(--type-${found.type})` }) : null, found.label) : "–",
    el("small", { "data-why": `${run.index} ${output.k}`, text: found && !found.type ? store.reason(run.index, output.place, "success") : "" }));
  const heads = () => (store.typeNames.size ? [el("th", { scope: "col", text: "Finding" })] : []);

  // In a set of several kinds of work most scores are about other cases.
  const table = (scores) => MB.fill($("case-scores"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col", text: "Run" }), ...heads(), ...scores.map((score) => el("th", { scope: "col", class: "n", text: score.label, title: score.summary })))),
    el("tbody", {}, ...outputs.map((picture) => el("tr", {},
      el("th", { scope: "row" }, el("span", { class: "who" }, MB.dot(picture.run), picture.name),
        picture.output.size ? el("small", { text: `was ${picture.output.size}` }) : null,
        picture.output.trouble ? el("small", { class: "trouble", text: picture.output.trouble }) : null),
      ...(store.typeNames.size ? [findingCell(picture)] : []),
      ...scores.map((score) => scoreCell(picture, score))))));

  // Why an output has its type, and what its editor looked for, stand with the details.
  const isFinding = ([, , metric, field]) => (metric === "success" && field === "why") || (metric === "attention_iou" && field === "concept");
  const explain = (lines) => {
    const found = lines.filter(isFinding).sort((a, b) => b[3].localeCompare(a[3])); // why comes first
    for (const [run, k, , field, text] of found) {
      const cell = $("case-scores").querySelector(`[data-why="${run} ${k}"]`);
      if (cell) cell.textContent += field === "why" ? `${text}. ` : `Attention on “${text}”. `;
    }
  };

  const saidLine = ([run, k, metric, field, what]) => {
    const score = store.byName.get(metric);
    const words = `${store.runs[run].name}${k ? `, output ${k + 1}` : ""}, ${score ? score.label : metric}, ${field.replaceAll("_", " ")}: `;
    if (field === "question" || field === "answer") {
      const texts = Array.isArray(what) ? what : [what];
      return [el("details", { class: "talk" }, el("summary", { text: words.replace(/: $/, "") }), ...texts.map((text) => el("pre", { dir: "auto", text })))];
    }
    if (!Array.isArray(what)) return [el("p", { dir: "auto" }, el("b", { text: words }), what)];
    return [el("p", {}, el("b", { text: words })), el("ul", {}, ...what.map((text) => el("li", { dir: "auto", text })))];
  };

  const said = (one) => {
    const box = $("case-details");
    box.hidden = !store.hasDetails.has(store.chunkOf(one));
    MB.fill($("case-said"));
    if (store.typeNames.size && !box.hidden) {
      store.details(one).then((lines) => {
        if (shown !== one) return;
        explain(lines);
        box.hidden = lines.every(isFinding);
      });
    }
    const load = () => store.details(one).then((all) => {
      if (shown !== one) return;
      const lines = all.filter((line) => !isFinding(line));
      MB.fill($("case-said"), ...(lines.length ? lines.flatMap(saidLine) : [el("p", { text: "Nothing about this case." })]));
    });
    box.ontoggle = () => box.open && load();
    if (box.open) load();
  };

  const render = (one, run) => {
    shown = one;
    pictures = collect(one);
    const choices = pictures.map((picture, place) => [place, picture.name]);
    const wanted = pictures.findIndex((picture) => picture.run && picture.key && (run === null || picture.run.index === run));
    MB.options($("case-a"), choices, 0);
    MB.options($("case-b"), choices, wanted < 0 ? Math.min(1, choices.length - 1) : wanted);
    dialog.classList.toggle("no-pictures", !pictures.length);
    dialog.classList.toggle("one-picture", pictures.length === 1);
    dialog.classList.toggle("worded", worded);
    $("case-title").textContent = `Case ${one.key}`;
    $("case-previous").disabled = !MB.gallery.beside(one, -1);
    $("case-next").disabled = !MB.gallery.beside(one, 1);
    strip();
    texts(one);
    answers(one);
    table(store.scores.filter((score) => store.about(one.index, score.name)));
    said(one);
    if (pictures.length) draw();
  };

  let keepRun = null;
  const open = (one, run) => {
    keepRun = run;
    render(one, run);
    large.show(one.key);
  };
  const step = (by) => {
    const next = shown && MB.gallery.beside(shown, by);
    const chosen = pictures[$("case-b").value];
    if (next) open(next, chosen && chosen.run ? chosen.run.index : keepRun);
  };
  const follow = (key, rest) => {
    const one = store.byKey.get(key);
    const run = /^run=(\d+)$/.exec(rest);
    if (one) open(one, run && store.runs[run[1]] ? Number(run[1]) : null);
  };
  const large = MB.large("case", { step, follow, closed: () => { shown = null; } });

  for (const id of ["case-a", "case-b", "case-outline", "case-change", ...(overlay ? ["case-overlay"] : [])]) $(id).addEventListener("change", draw);
  large.go();
  return { open };
})();
