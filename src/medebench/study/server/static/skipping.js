// Leaving a case out, with a reason.
import { $, el, fill } from "./widgets.js";

const REASONS = [
  "Something is missing or damaged",
  "The instruction is unclear or does not fit the case",
  "The reference is wrong",
  "This is outside what I can judge",
];
const OTHER = "Another reason";
const MOST = 500;

export class Skipping {
  constructor(skip) {
    this.skip = skip;
    fill($("skip-reasons"), el("legend", { class: "sr", text: "Why?" }), [...REASONS, OTHER].map((reason, number) => el("label", { class: "choice" },
      el("input", { type: "radio", name: "reason", value: reason, id: `reason-${number}`, onchange: () => this.check() }), el("span", { text: reason }))));
    $("skip-text").maxLength = MOST - 80;
    $("skip-text").addEventListener("input", () => this.check());
    $("skip-text").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.done(); });
    $("skip-cancel").addEventListener("click", () => $("skip").close());
    $("skip-go").addEventListener("click", () => this.done());
    $("skip-reasons").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); this.done(); } });
  }

  open(reason) {
    for (const input of $("skip-reasons").querySelectorAll("input")) input.checked = false;
    $("skip-text").value = "";
    const known = [...$("skip-reasons").querySelectorAll("input")].find((input) => reason === input.value || reason.startsWith(`${input.value}: `));
    if (known) known.checked = true;
    if (reason) $("skip-text").value = known ? reason.slice(known.value.length + 2) : reason;
    this.check();
    $("skip").showModal();
    ($("skip-reasons").querySelector("input:checked") ?? $("reason-0")).focus();
  }

  get reason() {
    const chosen = $("skip-reasons").querySelector("input:checked")?.value ?? "";
    const text = $("skip-text").value.trim();
    if (chosen && chosen !== OTHER) return text ? `${chosen}: ${text}` : chosen;
    return text;
  }

  check() {
    $("skip-go").disabled = !this.reason;
    $("skip-more").textContent = $("skip-reasons").querySelector("input:checked")?.value === OTHER ? "Which?" : "Add details, if you like";
  }

  done() {
    const { reason } = this;
    if (!reason) return;
    $("skip").close();
    this.skip(reason.slice(0, MOST));
  }
}
