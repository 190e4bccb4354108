// Every change goes to the server: one save under way at a time, then the newest state. A save whose
// answer was lost is sent again with the same key, so that it counts once.
import { call, newKey, NoConnection, Refusal } from "./api.js";

const PAUSES = [0.5, 1, 2, 4, 8, 15];
const PAUSED = { 401: "signed-out", 403: "signed-out", 409: "conflict", 423: "closed" };
// After these the server certainly has not taken it; after others it may have, before the answer was lost.
const NOT_TAKEN = [409, 413, 422, 423];

export class Saver {
  // `tell(state, facts)`: saving, saved, offline, conflict, closed, signed-out, refused.
  constructor(place, version, tell) {
    this.path = `/api/tasks/${place}`;
    this.version = version;
    this.tell = tell;
    this.waiting = null; // the newest state that was not sent yet
    this.sending = null; // what is under way, or has to be sent again with the same key
    this.pumping = false;
    this.stopped = null; // why nothing is sent until a person decides
    this.flushed = [];
  }

  get dirty() { return this.waiting !== null || this.sending !== null; }

  submit(answer) {
    this.waiting = answer;
    if (this.stopped === "refused") this.stopped = null;
    this.pump();
  }

  // True once everything is on the server; false if a person has to decide first.
  flush() {
    if (!this.dirty) return Promise.resolve(true);
    if (this.stopped) return Promise.resolve(false);
    return new Promise((resolve) => { this.flushed.push(resolve); });
  }

  settle(good) {
    for (const resolve of this.flushed.splice(0)) resolve(good);
  }

  async pump() {
    if (this.pumping) return;
    this.pumping = true;
    try {
      await this.send();
    } finally {
      this.pumping = false;
    }
  }

  async send() {
    for (let attempt = 0; this.dirty && !this.stopped;) {
      if (!this.sending) {
        this.sending = { ...this.waiting, key: newKey(), version: this.version };
        this.waiting = null;
        attempt = 0;
      }
      if (!attempt) this.tell("saving", {});
      const sent = this.sending;
      try {
        const { version, savedAt } = await call("PUT", this.path, sent, { keepalive: true });
        if (this.sending !== sent) continue; // forgotten meanwhile
        this.version = version;
        this.sending = null;
        if (!this.waiting) {
          this.tell("saved", { at: savedAt });
          this.settle(true);
        }
      } catch (error) {
        if (this.sending === sent) await this.failed(error, attempt);
        attempt += 1;
      }
    }
  }

  async failed(error, attempt) {
    const passing = error instanceof NoConnection || (error instanceof Refusal && (error.status >= 500 || error.status === 429 || error.status === 408));
    if (passing) {
      const pause = Math.max(PAUSES[Math.min(attempt, PAUSES.length - 1)], error.wait ?? 0);
      this.tell("offline", { pause });
      await this.nap(pause * (0.8 + 0.4 * Math.random()));
      return;
    }
    if (NOT_TAKEN.includes(error.status)) {
      // What was not accepted is still the newest state, unless there is a newer one.
      const { key: _key, version: _version, ...answer } = this.sending;
      this.waiting ??= answer;
      this.sending = null;
    }
    this.stopped = PAUSED[error.status] ?? "refused";
    this.tell(this.stopped, { problem: error.message, current: error.body?.current });
    if (this.stopped) this.settle(false);
  }

  nap(seconds) {
    return new Promise((resolve) => {
      const done = () => { clearTimeout(timer); removeEventListener("online", done); resolve(); };
      const timer = setTimeout(done, seconds * 1000);
      addEventListener("online", done);
      this.wake = done;
    });
  }

  // Go on: on top of `version` (after a conflict), or with the session renewed (after a sign-in).
  resume(version = this.version) {
    this.version = version;
    this.stopped = null;
    this.pump();
  }

  forget() {
    this.waiting = null;
    this.sending = null;
    this.stopped = null;
    this.settle(false);
  }
}
