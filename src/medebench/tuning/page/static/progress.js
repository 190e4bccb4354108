"use strict";
// Looks again every few seconds at the script that the experiment writes, and shows what is new.
(() => {
  const SIGNS = { open: "·", training: "▸", testing: "◔", done: "✓", failed: "✗" };
  const WORDS = { open: "to do", training: "training", testing: "being tested", done: "done", failed: "failed" };
  const QUIET = 180; // seconds without news after which it may have stopped
  const known = { data: null, chosen: null, grid: "", pictures: new Map() };
  const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

  const time = (seconds) => {
    if (seconds < 90) return `${Math.round(seconds)} s`;
    const minutes = Math.round(seconds / 60);
    if (minutes < 90) return `${minutes} min`;
    const hours = Math.floor(minutes / 60);
    return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
  };
  const address = (...parts) => parts.map((part) => part.split("/").map(encodeURIComponent).join("/")).join("/");

  const line = (data, one, faint) => ({
    steps: one.loss[0], losses: one.loss[1], faint,
    colour: data.arms[one.arm].colour, dashed: data.arms[one.arm].control,
  });
  const said = (one) => {
    const parts = [WORDS[one.stage]];
    if (one.stage === "training") parts.push(`step ${one.step.toLocaleString("en")} of ${one.steps.toLocaleString("en")}`);
    if (one.reason) parts.push(one.reason);
    return parts.join(", ");
  };

  // A picture that is there already stays, so that nothing flickers.
  const picture = (one, name, alt) => {
    const src = address(one.folder, name);
    if (!known.pictures.has(src)) known.pictures.set(src, MB.el("img", { src, alt, loading: "lazy" }));
    return known.pictures.get(src).isConnected ? MB.el("img", { src, alt }) : known.pictures.get(src);
  };
  const samples = (one) => Object.entries(one.drawn ?? {}).map(([name, steps]) =>
    MB.el("div", { class: "samples" },
      MB.el("span", { class: "sub", text: name }),
      MB.el("div", { class: "strip" }, ...steps.map((step) => MB.el("figure", {},
        picture(one, `${name}-${step}.png`, `${name} after ${step} steps`),
        MB.el("figcaption", { text: step ? step.toLocaleString("en") : "before" }))))));

  const card = (data, one) => MB.el("article", { class: "card" },
    MB.el("h3", {}, MB.dot({ colour: data.arms[one.arm].colour, control: data.arms[one.arm].control }), one.task),
    MB.el("p", { class: "sub", text: one.name }),
    MB.el("p", { class: "sub", text: said(one) }),
    one.loss ? MB.lossChart([line(data, one)], one.steps, `Loss of ${one.task}, ${one.name}`) : null,
    ...samples(one));

  const head = (data) => {
    const of = (...stages) => data.trainings.filter((one) => stages.includes(one.stage)).length;
    const all = data.trainings.length, done = of("done"), going = of("training", "testing"), failed = of("failed");
    MB.$("p-title").textContent = data.title;
    document.title = `${done}/${all} ${data.title}`;
    const meter = MB.$("p-meter");
    meter.setAttribute("aria-valuemax", all);
    meter.setAttribute("aria-valuenow", done);
    meter.firstElementChild.style.width = `${all ? 100 * done / all : 0}%`;
    const words = [`${done} of ${count(all, "training")} done`, `${going} under way`, `${of("open")} to do`];
    if (failed) words.push(`${failed} failed`);
    if (!data.finished && data.left) words.push(`about ${time(data.left)} left`);
    if (data.doing) words.push(data.doing);
    const text = words.join(" · ");
    if (MB.$("p-said").textContent !== text) MB.$("p-said").textContent = text;
    const results = MB.$("p-results");
    results.hidden = !data.results;
    const link = data.results && address(data.results);
    if (link && results.firstElementChild?.getAttribute("href") !== link) {
      MB.fill(results, MB.el("a", { href: link, text: "The results" }), data.finished ? " are there." : " so far.");
    }
  };

  const news = (data) => {
    const quiet = (Date.now() - data.written) / 1000;
    const box = MB.$("p-news");
    box.hidden = data.finished || quiet < QUIET;
    if (!box.hidden) box.textContent = `No news for ${time(quiet)}: it may have been stopped. Started again, it goes on where it was.`;
  };

  // Rows: task, arm, number of pairs; a cell for each draw, seed and fold.
  const rows = (data) => {
    const found = new Map();
    data.trainings.forEach((one, at) => {
      const key = `${one.task}\n${one.arm}\n${one.samples}`;
      if (!found.has(key)) found.set(key, []);
      found.get(key).push(at);
    });
    return [...found.values()];
  };
  const grid = (data) => {
    const box = MB.$("p-grid");
    const shape = JSON.stringify(data.trainings.map((one) => [one.task, one.name]));
    if (shape !== known.grid) {
      known.grid = shape;
      let task = null;
      MB.fill(box, ...rows(data).flatMap((some) => {
        const one = data.trainings[some[0]];
        const title = one.task === task ? null : MB.el("div", { role: "row", class: "task" }, MB.el("span", { role: "rowheader", text: one.task }));
        task = one.task;
        return [title, MB.el("div", { role: "row" },
          MB.el("span", { role: "rowheader", class: "arm" }, MB.dot(data.arms[one.arm]), `${data.arms[one.arm].label}, ${count(one.samples, "pair")}`),
          MB.el("span", { class: "cells" }, ...some.map((at) => MB.el("span", { role: "gridcell" },
            MB.el("button", { type: "button", "data-at": at, tabindex: -1, onclick: () => choose(at) })))))].filter(Boolean);
      }));
      const first = box.querySelector("button");
      if (first) first.tabIndex = 0;
    }
    for (const button of box.querySelectorAll("button")) {
      const one = data.trainings[button.dataset.at];
      if (button.className !== one.stage) { button.className = one.stage; button.textContent = SIGNS[one.stage]; }
      const label = `${one.task}, ${one.name}: ${said(one)}`;
      if (button.title !== label) { button.title = label; button.setAttribute("aria-label", label); }
    }
  };
  const choose = (at) => {
    known.chosen = at;
    for (const button of MB.$("p-grid").querySelectorAll("button")) {
      const chosen = Number(button.dataset.at) === at;
      button.tabIndex = chosen ? 0 : -1;
      button.setAttribute("aria-pressed", String(chosen));
    }
    one(known.data);
  };
  const one = (data) => {
    if (known.chosen === null || !data.trainings[known.chosen]) return;
    MB.fill(MB.$("p-one"), card(data, data.trainings[known.chosen]));
  };
  MB.$("p-grid").addEventListener("keydown", (event) => {
    const lines = [...MB.$("p-grid").querySelectorAll("[role=row]")].map((row) => [...row.querySelectorAll("button")]).filter((some) => some.length);
    const up = lines.findIndex((some) => some.includes(document.activeElement));
    if (up < 0) return;
    const along = lines[up].indexOf(document.activeElement);
    const to = {
      ArrowLeft: [up, along - 1], ArrowRight: [up, along + 1], Home: [up, 0], End: [up, lines[up].length - 1],
      ArrowUp: [up - 1, along], ArrowDown: [up + 1, along],
    }[event.key];
    if (!to || !lines[to[0]]) return;
    event.preventDefault();
    const target = lines[to[0]][Math.min(Math.max(to[1], 0), lines[to[0]].length - 1)];
    target.focus();
    choose(Number(target.dataset.at));
  });

  const now = (data) => {
    const going = data.trainings.filter((each) => each.stage === "training" || each.stage === "testing");
    MB.$("now").hidden = data.finished && !going.length;
    MB.fill(MB.$("p-now"), ...(going.length ? going.map((each) => card(data, each)) : [MB.el("p", { class: "none", text: "nothing at the moment" })]));
  };
  const losses = (data) => {
    const tasks = [...new Set(data.trainings.map((each) => each.task))];
    MB.fill(MB.$("p-losses"), ...tasks.map((task) => {
      const mine = data.trainings.filter((each) => each.task === task && each.loss);
      const most = Math.max(1, ...data.trainings.filter((each) => each.task === task).map((each) => each.steps));
      return MB.el("article", { class: "card" }, MB.el("h3", { text: task }),
        MB.lossChart(mine.map((each) => line(data, each, true)), most, `Losses of ${count(mine.length, "training")}: ${task}`));
    }));
  };

  const show = (data) => {
    known.data = data;
    head(data); grid(data); now(data); one(data); losses(data); news(data);
    if (!MB.$("p-key").childElementCount) {
      MB.fill(MB.$("p-key"), ...Object.entries(SIGNS).map(([stage, sign]) => MB.el("span", {}, MB.el("i", { class: stage, text: sign }), WORDS[stage])));
      MB.fill(MB.$("p-arms"), ...data.arms.map((arm) => MB.el("span", {}, MB.dot(arm), arm.label)));
    }
  };

  // A script may be loaded from the disk where other files may not.
  const look = () => {
    const tag = MB.el("script", { src: `${window.MEDEBENCH_STATE}?${Date.now()}` });
    const again = () => { tag.remove(); if (!known.data?.finished) setTimeout(look, window.MEDEBENCH_EVERY); };
    tag.onload = () => {
      const data = window.MEDEBENCH_TUNING;
      if (data && data.written !== known.data?.written) show(data);
      else if (known.data) news(known.data);
      again();
    };
    tag.onerror = again;
    document.head.append(tag);
  };
  look();
})();
