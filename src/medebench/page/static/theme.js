"use strict";
// Dark and light, which CP leads, over what the headline table averages.
(() => {
  const root = document.documentElement;
  const remember = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private */ } };
  const recall = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const changed = (name) => document.dispatchEvent(new CustomEvent(`mb:${name}`));

  const system = window.matchMedia("(prefers-color-scheme: dark)");
  MB.isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const button = MB.$("theme");
  const show = () => {
    button.textContent = MB.isDark() ? "☀ Light" : "☾ Dark";
    changed("theme");
  };
  const asked = new URLSearchParams(location.search).get("theme") || recall("medebench-theme");
  if (asked === "dark" || asked === "light") root.dataset.theme = asked;
  button.addEventListener("click", () => {
    root.dataset.theme = MB.isDark() ? "light" : "dark";
    remember("medebench-theme", root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);

  const table = MB.$("headline");
  const swap = (first, second) => {
    const marker = document.createComment("");
    first.replaceWith(marker);
    second.replaceWith(first);
    marker.replaceWith(second);
  };
  // The CP that leads stands first of the two, in every row.
  const lead = (name) => {
    const pair = ["cp", "cp_published"];
    for (const row of table ? table.rows : []) {
      const cells = [...row.cells].filter((cell) => pair.includes(cell.dataset.score));
      if (cells.length === 2 && cells[0].dataset.score !== name) swap(cells[0], cells[1]);
      for (const cell of cells) cell.classList.toggle("lead", cell.dataset.score === name);
    }
    root.dataset.headline = name;
    changed("headline");
  };
  const onChoice = (name, act) => {
    for (const input of document.querySelectorAll(`input[name="${name}"]`)) {
      // Browsers bring back old choices after a reload; the page starts as it was written.
      input.checked = input.defaultChecked;
      input.addEventListener("change", () => input.checked && act(input.value));
    }
  };
  onChoice("headline", lead);
  for (const means of document.querySelectorAll("table.means")) {
    onChoice(`${means.dataset.prefix}mean`, (value) => { means.dataset.mean = value; });
    onChoice(`${means.dataset.prefix}basis`, (value) => { means.dataset.basis = value; });
  }
  MB.headline = () => root.dataset.headline;

  // A table that is wider than the page says so.
  for (const box of document.querySelectorAll(".scroll")) {
    box.prepend(MB.el("p", { class: "scroll-hint", "aria-hidden": "true", text: "scrolls sideways →" }));
    const look = () => {
      box.classList.toggle("wider", box.scrollWidth > box.clientWidth + 1);
      box.classList.toggle("at-end", box.scrollLeft + box.clientWidth >= box.scrollWidth - 2);
    };
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box);
    if (box.firstElementChild.nextElementSibling) new ResizeObserver(look).observe(box.firstElementChild.nextElementSibling);
  }

  // Which section is being read.
  const links = new Map([...document.querySelectorAll("nav.bar a")].map((a) => [a.hash.slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        for (const [id, a] of links) a.toggleAttribute("aria-current", id === entry.target.id);
      }
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const id of links.keys()) if (MB.$(id)) seen.observe(MB.$(id));
  show();
})();
