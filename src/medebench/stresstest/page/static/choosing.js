"use strict";
// Which edits are shown, and in what order.
MB.choosing = (() => {
  const { all, data, predictors, classifies, kinds, states } = MB.edits;
  const $ = MB.$;
  const judged = all.some((one) => one.right);
  const answers = classifies
    ? (judged ? [["wrong", "wrong after"], ["right", "right after"], ["lost", "right before, wrong after"], ["gained", "wrong before, right after"]] : [])
    : [["lost", `worse by more than ${data.lost}`], ["held", "not worse by more than that"], ["empty", "at 0 after"]];
  const sorts = [["id", "as made"], ["up", "lowest score first"], ["down", "highest score first"],
    ["answer", "answer changed most"], ["kept", "what must stay changed most"]];

  const clear = () => {
    const number = (state) => all.filter((one) => one.status === state).length;
    MB.options($("f-status"), [["", `all, ${all.length}`], ...Object.entries(states).map(([state, text]) => [state, `${text}, ${number(state)}`])], "");
    if ($("f-kind")) MB.options($("f-kind"), [["", "all"], ...kinds.map((kind) => [`=${kind}`, kind || "no kind given"])], "");
    if ($("f-predictor")) {
      MB.options($("f-predictor"), [["", "any"], ...predictors.map((one, place) => [place, one.name])], "");
      MB.options($("f-answer"), [["", "anything"], ...answers], "");
    }
    MB.options($("f-sort"), sorts, "id");
    $("f-text").value = "";
  };
  clear();

  const haystacks = new Map();
  const haystack = (one) => {
    if (!haystacks.has(one)) haystacks.set(one, [one.id, one.sample, one.group ?? "", one.kind, one.prompt, one.caption, ...one.labels, one.why].join("\n").toLowerCase());
    return haystacks.get(one);
  };
  const isSo = (one, place, answer) => {
    const [before, after] = [one.said[0][place], one.said[1][place]];
    if (classifies) {
      const [first, second] = one.right ? [one.right[0][place], one.right[1][place]] : [null, null];
      return { wrong: second === false, right: second === true, lost: first === true && second === false, gained: first === false && second === true }[answer];
    }
    if (after === null) return false;
    return { lost: before !== null && before - after > data.lost, held: before !== null && before - after <= data.lost, empty: after === 0 }[answer];
  };
  const moved = (one, places) => Math.max(-1, ...places.map((place) => {
    const [before, after] = [one.said[0][place], one.said[1][place]];
    return before === null || after === null ? -1 : Math.abs(before - after);
  }));

  const apply = () => {
    const words = $("f-text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const state = $("f-status").value;
    const kind = $("f-kind") ? $("f-kind").value : "";
    const chosen = $("f-predictor") && $("f-predictor").value !== "" ? [Number($("f-predictor").value)] : predictors.map((_, place) => place);
    const answer = $("f-answer") ? $("f-answer").value : "";
    const found = all.filter((one) => (!state || one.status === state)
      && (!kind || one.kind === kind.slice(1))
      && (!answer || chosen.some((place) => isSo(one, place, answer)))
      && words.every((word) => haystack(one).includes(word)));
    // What has no number comes last in every order.
    const keys = {
      up: (one) => one.score ?? Infinity,
      down: (one) => -(one.score ?? -Infinity),
      answer: (one) => -moved(one, chosen),
      kept: (one) => -(one.changes?.[1] ?? -1),
    };
    const key = keys[$("f-sort").value];
    if (!key) return found;
    const worth = new Map(found.map((one) => [one, key(one)]));
    return found.sort((a, b) => (worth.get(a) === worth.get(b) ? a.index - b.index : worth.get(a) < worth.get(b) ? -1 : 1));
  };

  let waiting = 0;
  const changed = () => document.dispatchEvent(new CustomEvent("mb:filters"));
  $("filters").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(changed, 120); });
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", (event) => { event.preventDefault(); clear(); changed(); });
  return { apply };
})();
