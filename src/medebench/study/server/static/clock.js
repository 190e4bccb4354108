// Active time on a case: the page is visible and somebody did something in the last minute.
const IDLE = 60_000;

export class Clock {
  constructor() {
    this.total = 0;
    this.since = null;
    this.last = 0;
    for (const name of ["pointerdown", "pointermove", "keydown", "wheel", "touchstart", "scroll"]) {
      document.addEventListener(name, () => this.stir(), { passive: true, capture: true });
    }
    document.addEventListener("visibilitychange", () => (document.hidden ? this.rest(performance.now()) : this.stir()));
  }

  start(seconds) {
    this.total = seconds * 1000;
    this.since = null;
    this.stir();
  }

  stir() {
    if (document.hidden) return;
    const now = performance.now();
    if (this.since !== null && now - this.last > IDLE) this.rest(this.last + IDLE);
    if (this.since === null) this.since = now;
    this.last = now;
  }

  rest(until) {
    if (this.since !== null) this.total += Math.max(0, Math.min(until, this.last + IDLE) - this.since);
    this.since = null;
  }

  get seconds() {
    const now = performance.now();
    const running = this.since === null ? 0 : Math.max(0, Math.min(now, this.last + IDLE) - this.since);
    return Math.round((this.total + running) / 100) / 10;
  }
}
