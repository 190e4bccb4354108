// Zoom and pan, the same for every picture on the page; flicker between an output and the picture before.

const MOST = 16;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

export class View {
  // `look(zoom)` is told of every change.
  constructor(look) {
    this.look = look;
    this.reset();
  }

  reset() { this.set(1, 0.5, 0.5); }

  set(zoom, x, y) {
    this.zoom = clamp(zoom, 1, MOST);
    const margin = 0.5 / this.zoom;
    this.x = clamp(x, margin, 1 - margin);
    this.y = clamp(y, margin, 1 - margin);
    const style = document.documentElement.style;
    style.setProperty("--zoom", this.zoom);
    style.setProperty("--shift-x", `${100 * (0.5 - this.zoom * this.x)}%`);
    style.setProperty("--shift-y", `${100 * (0.5 - this.zoom * this.y)}%`);
    document.documentElement.classList.toggle("zoomed", this.zoom > 1);
    this.look(this.zoom);
  }

  // What is under (across, down), fractions of the frame, stays there.
  zoomBy(factor, across = 0.5, down = 0.5) {
    const next = clamp(this.zoom * factor, 1, MOST);
    const change = 1 / this.zoom - 1 / next;
    this.set(next, this.x + (across - 0.5) * change, this.y + (down - 0.5) * change);
  }

  panBy(across, down) { this.set(this.zoom, this.x - across / this.zoom, this.y - down / this.zoom); }

  // Wheel, pinch and drag on a frame; a press that did not move is a click.
  attach(frame, click) {
    const fingers = new Map();
    let moved = false;
    const within = (x, y) => {
      const box = frame.getBoundingClientRect();
      return [(x - box.left) / box.width, (y - box.top) / box.height, box];
    };
    frame.addEventListener("wheel", (event) => {
      if (event.deltaY > 0 && this.zoom === 1) return; // nothing to zoom out of: the page scrolls
      event.preventDefault();
      const [across, down] = within(event.clientX, event.clientY);
      this.zoomBy(Math.exp(clamp(-event.deltaY, -240, 240) * (event.ctrlKey ? 0.01 : 0.002)), across, down);
    }, { passive: false });
    frame.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      if (!fingers.size) moved = false;
      fingers.set(event.pointerId, [event.clientX, event.clientY, event.clientX, event.clientY]);
      frame.setPointerCapture(event.pointerId);
    });
    frame.addEventListener("pointermove", (event) => {
      const finger = fingers.get(event.pointerId);
      if (!finger) return;
      const [x, y, startX, startY] = finger;
      if (Math.hypot(event.clientX - startX, event.clientY - startY) > 5) moved = true;
      const box = frame.getBoundingClientRect();
      if (fingers.size === 2) {
        moved = true;
        const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
        const before = Math.hypot(x - other[0], y - other[1]);
        const after = Math.hypot(event.clientX - other[0], event.clientY - other[1]);
        const [across, down] = within((event.clientX + other[0]) / 2, (event.clientY + other[1]) / 2);
        if (before > 0) this.zoomBy(after / before, across, down);
        this.panBy((event.clientX - x) / 2 / box.width, (event.clientY - y) / 2 / box.height);
      } else if (moved && this.zoom > 1) {
        this.panBy((event.clientX - x) / box.width, (event.clientY - y) / box.height);
      }
      fingers.set(event.pointerId, [event.clientX, event.clientY, startX, startY]);
    });
    const lift = (event) => {
      if (!fingers.delete(event.pointerId)) return;
      if (event.type === "pointerup" && !moved && !fingers.size && click) click();
    };
    frame.addEventListener("pointerup", lift);
    frame.addEventListener("pointercancel", lift);
  }
}

// Something that lasts as long as a button is held, by finger, mouse, Space or Enter.
export const whileHeld = (button, act) => {
  let held = false;
  const turn = (on) => { if (on !== held) { held = on; act(on); } };
  button.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    button.setPointerCapture(event.pointerId);
    turn(true);
  });
  for (const name of ["pointerup", "pointercancel", "lostpointercapture", "blur"]) button.addEventListener(name, () => turn(false));
  button.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    turn(true);
  });
  button.addEventListener("keyup", (event) => { if (event.key === " " || event.key === "Enter") turn(false); });
  button.addEventListener("contextmenu", (event) => event.preventDefault());
};
