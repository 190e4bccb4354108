"use strict";
// Scripts that are loaded when something in them is needed: a page from the disk may not read files.
MB.load = (source, name) => new Promise((resolve) => {
  const script = MB.el("script", { src: source });
  const done = () => {
    const found = window[name] || {};
    delete window[name];
    script.remove();
    resolve(found);
  };
  script.addEventListener("load", done);
  script.addEventListener("error", done);
  document.head.append(script);
});

// Pictures, those of a few neighbouring cases in one script of each kind (written by page/image_packs.py).
MB.packs = (() => {
  const { names, together, small } = window.MEDEBENCH_CASES.packs;
  const MOST = 1e8; // characters that are kept in memory
  const held = new Map(); // the packs in memory, the one used last at the end
  let weight = 0;

  const load = (kind, name) => {
    const source = `assets/${kind}/${name}.js`;
    const one = held.get(source) || { weight: 0, pictures: MB.load(source, `MEDEBENCH_${kind.toUpperCase()}_${name}`) };
    if (!held.has(source)) one.pictures.then((found) => {
      if (held.get(source) !== one) return;
      one.weight = Object.values(found).reduce((sum, text) => sum + text.length, 0);
      weight += one.weight;
      for (const [other, old] of held) {
        if (weight <= MOST || other === source) break;
        held.delete(other);
        weight -= old.weight;
      }
    });
    held.delete(source);
    held.set(source, one);
    return one.pictures;
  };

  const address = (text) => (text.startsWith("<") ? `data:image/svg+xml,${encodeURIComponent(text)}` : `data:image/${text}`);

  // A picture of the case with this number, and whether it was found.
  const show = (image, kind, number, key) => load(kind, names[Math.floor(number / together)]).then((pictures) => {
    let text = pictures[key];
    if (text && text.startsWith("=")) text = pictures[text.slice(1)]; // looks like another one
    if (text) image.src = address(text);
    // What is small has no large view.
    return !text && kind === "large" ? show(image, "small", number, key) : Boolean(text);
  });

  // The texts and further pictures that came with an output.
  const card = (number, key) => load("cards", names[Math.floor(number / together)]).then((found) => {
    const text = found[key] && found[key].startsWith("=") ? found[found[key].slice(1)] : found[key];
    const { texts, images, wanted = [] } = text ? JSON.parse(text) : { texts: [], images: [] };
    return { texts, wanted, images: images.map(([label, name, width, height, mark]) => ({ label, key: name, width, height, mark })) };
  });

  // A picture that is no larger than a thumbnail is its own large view.
  const large = (one) => (one.width && Math.max(one.width, one.height) <= small ? "small" : "large");
  return { show, card, large };
})();
