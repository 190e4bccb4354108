"""The verdict of a stress test in plain words, derived from its numbers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medebench.analysis.estimate import Estimate
from medebench.analysis.interval import Interval
from medebench.page.number import counted, listed, number
from medebench.stresstest.stress_outcome import AtThreshold, PredictorOutcome, StressOutcome
from medebench.stresstest.stress_verdict import COLLAPSED, POOR, Ruling, poorness, verdicts

#: By (predictor, reference): how much more the first loses (`comparing.paired_difference`).
Differences = Mapping[tuple[str, str], Estimate]

#: A difference between accuracy and matched accuracy that is worth a sentence.
_WORTH_TELLING = 0.05
#: A difference between the losses of kinds of edit that is worth one.
_WORTH_A_KIND = 0.01

_MEANING = {
    "shortcut": (
        "It does worse than a coin toss on pictures where only what usually accompanies the class "
        "is left: it relies on that, not on the class itself."
    ),
    "shortcut, same labels": (
        "The edits changed nothing that the labels describe, yet most of its answers are now "
        "wrong: it relies on what was changed."
    ),
    "fragile": "What was added to the pictures makes it miss large parts of the organ.",
    "weaker": "The loss is significant, but that its answers rest on something else is not.",
    "weaker, of a segmenter": "The loss is significant, but it does not show that it is large.",
    "robust": "A loss large enough to matter is ruled out.",
}


def words(outcome: StressOutcome, differences: Differences | None = None) -> tuple[str, ...]:
    """Paragraphs: the predictors under test, the references, the edits, and caveats."""
    rulings = verdicts(outcome)
    tested = [one for one in outcome.predictors if not one.reference]
    references = [one for one in outcome.predictors if one.reference]
    told = [_predictor(outcome, one, rulings[one.name]) for one in tested]
    against = _references(outcome, tested, references, rulings, differences or {})
    paragraphs = [*told, against, _edits(outcome), _mind(outcome, rulings)]
    return tuple(filter(None, paragraphs))


def _predictor(outcome: StressOutcome, one: PredictorOutcome, found: Ruling) -> str:
    table, headline = one.table, outcome.headline
    original, edited, loss = (table[which][headline] for which in ("original", "edited", "loss"))
    start = f"{one.name}: {found.word}, because {found.because}."
    if outcome.task == "classification":
        facts = f"It is right on {_text(outcome, original)} of {_pictures(original, 'original')}"
        facts += f" and on {_text(outcome, edited)} of {_pictures(edited, 'edited')}"
    else:
        before = table["before"][headline]
        facts = f"Its mean Dice is {_text(outcome, before)} before and {_text(outcome, edited)}"
        facts += f" after the edit, over {edited.n} edits"
    if loss.value is not None:
        gained = loss.value < 0
        facts += f", a {'gain' if gained else 'loss'} of "
        facts += _points(outcome, _minus(loss) if gained else loss)
    sentences = [start, facts + ".", _matched(outcome, one), _meaning(outcome, found)]
    pairs = table["pairs"].get("auroc")
    if pairs is not None and pairs.value is not None:
        over = "The AUROC over the pictures before and after editing"
        sentences.append(f"{over} is {_number(pairs)}.")
    return " ".join(filter(None, [*sentences, _kinds(outcome, one), _distance(one)]))


def _meaning(outcome: StressOutcome, found: Ruling) -> str:
    if found.word == "weaker" and outcome.task == "segmentation":
        return _MEANING["weaker, of a segmenter"]
    if found.word == "shortcut" and all(
        edit.intended.label == edit.intended.sample.label for edit in outcome.edits if edit.kept
    ):
        return _MEANING["shortcut, same labels"]
    return _MEANING.get(found.word, "")


def _matched(outcome: StressOutcome, one: PredictorOutcome) -> str:
    """Where the shift in class balance alone changes the accuracy."""
    if outcome.task != "classification":
        return ""
    plain, matched = (one.table["loss"][name] for name in ("accuracy", "accuracy_matched"))
    if plain.value is None or matched.value is None:
        return ""
    if abs(plain.value - matched.value) < _WORTH_TELLING:
        return ""
    return (
        f"On original pictures with the same labels it was right in "
        f"{_text(outcome, one.table['original']['accuracy_matched'])}, so the matched loss is "
        f"{_points(outcome, matched)}; the verdict is based on that figure."
    )


def _kinds(outcome: StressOutcome, one: PredictorOutcome) -> str:
    lost = {kind: table["loss"][outcome.headline] for kind, table in one.kinds.items()}
    known = [(each.value, kind) for kind, each in lost.items() if each.value is not None]
    if len(known) < 2:
        return ""
    (most, worst), (least, best) = max(known), min(known)
    if most - least < _WORTH_A_KIND:
        return ""
    return (
        f"Of the {len(lost)} kinds of edit, {worst or 'the unnamed one'} costs the most, "
        f"{_points(outcome, lost[worst])}, and {best or 'the unnamed one'} the least, "
        f"{_points(outcome, lost[best])}."
    )


def _distance(one: PredictorOutcome) -> str:
    far, dice = (one.table["edited"].get(name) for name in ("average_hausdorff", "dice"))
    if far is None or dice is None or far.n == dice.n:
        return ""
    return (
        f"On {dice.n - far.n} of {_pictures(dice, 'edited')} it marks nothing: Dice counts "
        f"these as 0; the average Hausdorff distance excludes them."
    )


def _references(
    outcome: StressOutcome,
    tested: Sequence[PredictorOutcome],
    references: Sequence[PredictorOutcome],
    rulings: Mapping[str, Ruling],
    differences: Differences,
) -> str:
    sentences = []
    for one in references:
        found = rulings[one.name]
        original = one.table["before" if outcome.task == "segmentation" else "original"]
        edited = one.table["edited"][outcome.headline]
        sentences.append(
            f"The reference {one.name} goes from {_text(outcome, original[outcome.headline])} to "
            f"{_text(outcome, edited)} and is rated {found.word} because {found.because}."
        )
        for other in tested:
            more = differences.get((other.name, one.name))
            if more is not None and more.value is not None:
                sentences.append(_more(outcome, other.name, one.name, more))
    return " ".join(sentences)


def _more(outcome: StressOutcome, name: str, reference: str, more: Estimate) -> str:
    same = ", at matched labels" if outcome.task == "classification" else ""
    if more.interval is None:
        return f"{name} loses {_points(outcome, more)} more than {reference}; there is no interval."
    if more.interval.low > 0:
        return f"{name} loses more than {reference} by {_points(outcome, more)}{same}."
    if more.interval.high < 0:
        return f"{name} loses less than {reference} by {_points(outcome, _minus(more))}{same}."
    shown = f"{_points(outcome, more)}{same}"
    return f"It is not established that {name} loses more than {reference}: {shown}."


def _edits(outcome: StressOutcome) -> str:
    asked, kept = len(outcome.edits), outcome.kept
    thrown = sum(not edit.kept and edit.score is not None for edit in outcome.edits)
    failed = asked - kept - thrown
    text = f"Of {counted(asked, 'requested edit')}, {kept:,} {'is' if kept == 1 else 'are'} used"
    if thrown:
        verb = "was" if thrown == 1 else "were"
        text += (
            f", {thrown:,} {verb} discarded for an edit score below {outcome.threshold:g} "
            f"({outcome.encoder})"
        )
    if failed:
        text += f", {failed:,} could not be made or scored"
    sentences = [text + "."]
    if not outcome.encoder:
        sentences.append("The edits were not scored: whether they succeeded was not checked.")
    return " ".join([*sentences, *_thresholds(outcome)])


def _thresholds(outcome: StressOutcome) -> list[str]:
    """What other thresholds would have given; losing the evidence is not a different verdict."""
    names = [one.name for one in outcome.predictors] if outcome.thresholds else []
    told = {name: _elsewhere(outcome, name) for name in names}
    changed = {name: what for name, what in told.items() if what}
    if not changed:
        return ["The verdict is the same at every other score threshold."] if names else []
    said = [f"{name} would be {what}" for name, what in changed.items()]
    same = [name for name in names if name not in changed]
    rest = [f"for {_all(same)} the verdict is the same"] if same else []
    return [f"At other score thresholds {'; '.join([*said, *rest])}."]


def _elsewhere(outcome: StressOutcome, name: str) -> str:
    said = [(at, at.verdict[name]) for at in outcome.thresholds]
    chosen = next(word for at, word in said if at.threshold == outcome.threshold)
    others = [(at, word) for at, word in said if word not in (chosen, "unclear")]
    silent = [_threshold(at) for at, word in said if word == "unclear" != chosen]
    if others:
        return _all([f"{word} at {_threshold(at)} ({at.kept:,} used)" for at, word in others])
    return f"still {chosen}, but unclear at {_all(silent)}" if silent else ""


def _threshold(at: AtThreshold) -> str:
    return "no threshold" if at.threshold <= -1 else f"{at.threshold:g}"


def _mind(outcome: StressOutcome, rulings: Mapping[str, Ruling]) -> str:
    """What a reader must know before using the verdict."""
    found = []
    references = [one.name for one in outcome.predictors if one.reference]
    down = [name for name, ruling in rulings.items() if ruling.word in COLLAPSED]
    if both := [name for name in down if name in references]:
        verb = "break" if len(both) > 1 else "breaks"
        found.append(
            f"{_all(both)}, meant as a reference, {verb} down on the edits: the edits rather than "
            f"the predictor may be at fault. Look at them first."
        )
    elif down and not references:
        basis = "the edit score" if outcome.encoder else "an assumption"
        found.append(
            f"There is no reference predictor: that the edits show what they should rests on "
            f"{basis} alone. Look at them."
        )
    if outcome.edits and 2 * outcome.kept < len(outcome.edits):
        found.append(
            f"Only {outcome.kept:,} of {counted(len(outcome.edits), 'edit')} "
            f"{'is' if outcome.kept == 1 else 'are'} used: they may not be representative."
        )
    for one in outcome.predictors:
        poor = poorness(one.table, outcome.task)
        if poor and poor not in rulings[one.name].because:
            bound = f"{100 * POOR:.0f} %" if outcome.task == "classification" else f"{POOR:.2f}"
            found.append(f"{one.name} was already poor before any edit ({poor}, below {bound}).")
    return " ".join(found)


def _text(outcome: StressOutcome, one: Estimate) -> str:
    if one.value is None:
        return f"an unknown share ({one.reason})"
    return _number(one) if outcome.task == "segmentation" else _with_ends(one, 100, 1, " %")


def _points(outcome: StressOutcome, one: Estimate) -> str:
    if one.value is None:
        return f"an unknown amount ({one.reason})"
    if outcome.task == "segmentation":
        return _number(one) + " Dice"
    return _with_ends(one, 100, 1, " points")


def _minus(one: Estimate) -> Estimate:
    ends = Interval(-one.interval.high, -one.interval.low) if one.interval else None
    return Estimate(-(one.value or 0.0), ends, one.n, one.of)


def _number(one: Estimate) -> str:
    return f"unknown ({one.reason})" if one.value is None else _with_ends(one, 1, 3)


def _with_ends(one: Estimate, scale: float, decimals: int, unit: str = "") -> str:
    assert one.value is not None
    ends = [number(scale * end, decimals) for end in one.interval or ()]
    shown = f" ({' to '.join(ends)})" if ends else ""
    return f"{number(scale * one.value, decimals)}{unit}{shown}"


def _pictures(one: Estimate, kind: str) -> str:
    return counted(one.n, f"{kind} picture")


def _all(names: Sequence[str]) -> str:
    return listed(names, len(names))
