"use strict";
// What a large view in a dialog does, whatever it shows: slider, arrows, an address of its own.
// `step(by)` goes on, `follow(key, rest)` opens what the address says, `closed()` forgets it.
MB.large = (name, { step, follow, closed }) => {
  const $ = (part) => MB.$(`${name}-${part}`);
  const dialog = MB.$(name);

  const slide = () => $("view").style.setProperty("--cut", `${$("slider").value}%`);
  const drag = (event) => {
    if (!event.buttons) return;
    const box = $("view").getBoundingClientRect();
    $("slider").value = 100 * (event.clientX - box.left) / box.width;
    slide();
  };
  const address = (key) => `#${name}=${encodeURIComponent(key)}`;
  const show = (key) => {
    if (location.hash !== address(key)) history.replaceState(null, "", address(key));
    $("link").href = address(key);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  };
  const go = () => {
    const match = new RegExp(`^#${name}=([^&]*)(?:&(.*))?$`).exec(location.hash);
    if (!match) { if (dialog.open) dialog.close(); return; }
    let key = match[1];
    try { key = decodeURIComponent(key); } catch { /* not encoded: take it as it is */ }
    follow(key, match[2] ?? "");
  };

  $("slider").addEventListener("input", slide);
  for (const kind of ["pointerdown", "pointermove"]) $("view").addEventListener(kind, drag);
  $("previous").addEventListener("click", () => step(-1));
  $("next").addEventListener("click", () => step(1));
  $("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => {
    closed();
    if (location.hash.startsWith(`#${name}=`)) history.replaceState(null, "", "#gallery");
  });
  dialog.addEventListener("keydown", (event) => {
    // In a slider, a list or a text the arrows keep their own meaning.
    if (["INPUT", "SELECT"].includes(event.target.tagName) || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowLeft") { step(-1); event.preventDefault(); }
    if (event.key === "ArrowRight") { step(1); event.preventDefault(); }
  });
  window.addEventListener("hashchange", go);
  return { slide, show, go };
};
