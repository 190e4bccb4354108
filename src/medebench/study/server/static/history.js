// Undo and redo. After a reload the steps come from what the server has kept.
import { spread, squeeze } from "./ranking.js";

const text = (ranks) => JSON.stringify(Object.keys(ranks).sort().map((key) => squeeze(ranks[key])));

export class History {
  constructor(now) {
    this.past = [];
    this.now = now;
    this.future = [];
  }

  // Every undo was saved as a version of its own. One that brought back the state before the last is
  // taken as a step back, so that undo goes on where it had stopped instead of turning around.
  static replay(versions, current, empty, size) {
    const wide = (ranks) => Object.fromEntries(Object.keys(empty).map((key) => [key, spread(ranks[key] ?? [], size)]));
    const all = [...versions, current].map(wide);
    const stack = versions.length < 100 ? [empty] : [];
    for (const ranks of all) {
      if (stack.length && text(stack.at(-1)) === text(ranks)) continue;
      if (stack.length > 1 && text(stack.at(-2)) === text(ranks)) stack.pop();
      else stack.push(ranks);
    }
    const history = new History(stack.pop());
    history.past = stack;
    return history;
  }

  // `joined`: the change belongs to the one before it (a letter and its number are one step).
  push(ranks, joined = false) {
    if (!joined) this.past.push(this.now);
    this.now = ranks;
    this.future = [];
  }

  get canUndo() { return this.past.length > 0; }

  get canRedo() { return this.future.length > 0; }

  undo() {
    this.future.push(this.now);
    this.now = this.past.pop();
  }

  redo() {
    this.past.push(this.now);
    this.now = this.future.pop();
  }
}

export const sameRanks = (first, second) => text(first) === text(second);
