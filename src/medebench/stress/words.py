"""The verdict of a stress test in plain words, made from its numbers and saying no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medebench.analysis.interval import Interval
from medebench.stress.outcome import AtThreshold, PredictorOutcome, Quantity, StressOutcome
from medebench.stress.verdict import COLLAPSED, POOR, Ruling, poorness, verdicts

#: By (predictor, reference): how much more the first loses (`comparing.paired_difference`).
Differences = Mapping[tuple[str, str], Quantity]

#: A difference between accuracy and matched accuracy that is worth a sentence.
_WORTH_TELLING = 0.05
#: A difference between the losses of kinds of edit that is worth one.
_WORTH_A_KIND = 0.01

_MEANING = {
    "shortcut": (
        "It is wrong more often than a coin would be, on pictures where only what usually comes "
        "with the class is left: it goes by that, not by the class itself."
    ),
    "shortcut, same labels": (
        "The edits changed nothing that the labels are about, and yet most of its answers are now "
        "wrong: it goes by what was changed."
    ),
    "fragile": "What was added to the pictures makes it miss much of the organ.",
    "weaker": "The loss is shown, but not that its answers rest on something else.",
    "weaker, of a segmenter": "The loss is shown, but not that it is a large one.",
    "robust": "A loss that would matter here is ruled out.",
}


def words(outcome: StressOutcome, differences: Differences | None = None) -> tuple[str, ...]:
    """Paragraphs: the predictors under test, the references, the edits, and what to mind."""
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
        facts = f"It is right on {_text(outcome, original)} of {_pictures(original)} as they are"
        facts += f" and on {_text(outcome, edited)} of {_pictures(edited, 'edited')}"
    else:
        before = table["before"][headline]
        facts = f"Its mean Dice is {_text(outcome, before)} before and {_text(outcome, edited)}"
        facts += f" after the edit, over {edited.pictures} edits"
    if loss.value is not None:
        gained = loss.value < 0
        facts += f", a {'gain' if gained else 'loss'} of "
        facts += _points(outcome, _minus(loss) if gained else loss)
    sentences = [start, facts + ".", *_matched(outcome, one), _meaning(outcome, found)]
    sentences += [*_ranking(outcome, one), *_kinds(outcome, one), *_distance(one)]
    return " ".join(filter(None, sentences))


def _meaning(outcome: StressOutcome, found: Ruling) -> str:
    if found.word == "weaker" and outcome.task == "segmentation":
        return _MEANING["weaker, of a segmenter"]
    if found.word == "shortcut" and all(
        edit.intended.label == edit.intended.sample.label for edit in outcome.edits if edit.kept
    ):
        return _MEANING["shortcut, same labels"]
    return _MEANING.get(found.word, "")


def _matched(outcome: StressOutcome, one: PredictorOutcome) -> list[str]:
    """Where the change of classes alone moves the accuracy."""
    if outcome.task != "classification":
        return []
    plain, matched = (one.table["loss"][name] for name in ("accuracy", "accuracy_matched"))
    if plain.value is None or matched.value is None:
        return []
    if abs(plain.value - matched.value) < _WORTH_TELLING:
        return []
    return [
        f"Compared with pictures of the same labels, on which it was right in "
        f"{_text(outcome, one.table['original']['accuracy_matched'])}, the loss is "
        f"{_points(outcome, matched)}; the word goes by that."
    ]


def _ranking(outcome: StressOutcome, one: PredictorOutcome) -> list[str]:
    pairs = one.table["pairs"].get("auroc")
    if pairs is None or pairs.value is None:
        return []
    return [f"AUROC of the pictures before against their edits is {_number(pairs)}."]


def _kinds(outcome: StressOutcome, one: PredictorOutcome) -> list[str]:
    lost = {kind: table["loss"][outcome.headline] for kind, table in one.kinds.items()}
    known = [(each.value, kind) for kind, each in lost.items() if each.value is not None]
    if len(known) < 2:
        return []
    (most, worst), (least, best) = max(known), min(known)
    if most - least < _WORTH_A_KIND:
        return []
    return [
        f"Of the {len(lost)} kinds of edit, {worst or 'the unnamed one'} costs most, "
        f"{_points(outcome, lost[worst])}, and {best or 'the unnamed one'} least, "
        f"{_points(outcome, lost[best])}."
    ]


def _distance(one: PredictorOutcome) -> list[str]:
    far, dice = (one.table["edited"].get(name) for name in ("average_hausdorff", "dice"))
    if far is None or dice is None or far.pictures == dice.pictures:
        return []
    empty = dice.pictures - far.pictures
    return [
        f"On {empty} of {_pictures(dice, 'edited')} it marks nothing: Dice counts them as 0, the "
        f"average Hausdorff distance leaves them out."
    ]


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
            f"{_text(outcome, edited)} and counts as {found.word}, because {found.because}."
        )
        for other in tested:
            more = differences.get((other.name, one.name))
            if more is not None and more.value is not None:
                sentences.append(_more(outcome, other.name, one.name, more))
    return " ".join(sentences)


def _more(outcome: StressOutcome, name: str, reference: str, more: Quantity) -> str:
    same = ", compared at the same labels" if outcome.task == "classification" else ""
    if more.interval is None:
        return f"{name} loses {_points(outcome, more)} more than {reference}; there is no interval."
    if more.interval.low > 0:
        return f"{name} loses more than {reference} by {_points(outcome, more)}{same}."
    if more.interval.high < 0:
        return f"{name} loses less than {reference} by {_points(outcome, _minus(more))}{same}."
    shown = f"{_points(outcome, more)}{same}"
    return f"Whether {name} loses more than {reference} is not shown: {shown}."


def _edits(outcome: StressOutcome) -> str:
    asked, kept = len(outcome.edits), outcome.kept
    thrown = sum(not edit.kept and edit.score is not None for edit in outcome.edits)
    failed = asked - kept - thrown
    text = f"Of {_count(asked, 'edit')} asked for, {kept:,} {'is' if kept == 1 else 'are'} used"
    if thrown:
        verb = "was" if thrown == 1 else "were"
        text += (
            f", {thrown:,} {verb} thrown away for an edit score below {outcome.threshold:g} "
            f"({outcome.encoder})"
        )
    if failed:
        text += f", {failed:,} could not be made or scored"
    sentences = [text + "."]
    if not outcome.encoder:
        sentences.append("The edits were not scored: whether they succeeded was not checked.")
    return " ".join([*sentences, *_thresholds(outcome)])


def _thresholds(outcome: StressOutcome) -> list[str]:
    """What other thresholds would have said; losing the evidence is not another verdict."""
    names = [one.name for one in outcome.predictors] if outcome.thresholds else []
    told = {name: _elsewhere(outcome, name) for name in names}
    changed = {name: what for name, what in told.items() if what}
    if not changed:
        return ["Other thresholds of the score give the same words."] if names else []
    said = [f"{name} would be {what}" for name, what in changed.items()]
    same = [name for name in names if name not in changed]
    rest = [f"for {_join(same)} the word is the same"] if same else []
    return [f"At other thresholds of the score {'; '.join([*said, *rest])}."]


def _elsewhere(outcome: StressOutcome, name: str) -> str:
    said = [(at, at.verdict[name]) for at in outcome.thresholds]
    chosen = next(word for at, word in said if at.threshold == outcome.threshold)
    others = [(at, word) for at, word in said if word not in (chosen, "unclear")]
    silent = [_threshold(at) for at, word in said if word == "unclear" != chosen]
    if others:
        return _join([f"{word} at {_threshold(at)} ({at.kept:,} used)" for at, word in others])
    return f"{chosen} too, but unclear at {_join(silent)}" if silent else ""


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
            f"{_join(both)}, meant as a reference, {verb} down on the edits: the edits may be "
            f"at fault, and not the predictor. Look at them first."
        )
    elif down and not references:
        basis = "the edit score alone" if outcome.encoder else "nothing that was measured"
        found.append(
            f"There is no reference predictor: that the edits show what they should rests on "
            f"{basis}. Look at them."
        )
    if outcome.edits and 2 * outcome.kept < len(outcome.edits):
        found.append(
            f"Only {outcome.kept:,} of {_count(len(outcome.edits), 'edit')} "
            f"{'is' if outcome.kept == 1 else 'are'} used: they may not stand for the rest."
        )
    for one in outcome.predictors:
        poor = poorness(one.table, outcome.task)
        if poor and poor not in rulings[one.name].because:
            bound = f"{100 * POOR:.0f} %" if outcome.task == "classification" else f"{POOR:.2f}"
            found.append(f"{one.name} was poor before any edit ({poor}, below {bound}).")
    return " ".join(found)


def _text(outcome: StressOutcome, one: Quantity) -> str:
    if one.value is None:
        return f"an unknown share ({one.reason})"
    if outcome.task == "segmentation":
        return _number(one)
    ends = (
        f" ({_percent(one.interval.low)} to {_percent(one.interval.high)})" if one.interval else ""
    )
    return f"{_percent(one.value)} %{ends}"


def _points(outcome: StressOutcome, one: Quantity) -> str:
    if one.value is None:
        return f"an unknown amount ({one.reason})"
    if outcome.task == "segmentation":
        return _number(one) + " Dice"
    ends = (
        f" ({_percent(one.interval.low)} to {_percent(one.interval.high)})" if one.interval else ""
    )
    return f"{_percent(one.value)} points{ends}"


def _minus(one: Quantity) -> Quantity:
    ends = Interval(-one.interval.high, -one.interval.low) if one.interval else None
    return Quantity(-(one.value or 0.0), ends, one.pictures)


def _number(one: Quantity) -> str:
    if one.value is None:
        return f"unknown ({one.reason})"
    ends = f" ({_three(one.interval.low)} to {_three(one.interval.high)})" if one.interval else ""
    return f"{_three(one.value)}{ends}"


def _three(value: float) -> str:
    text = f"{value:.3f}"
    return "0.000" if text == "-0.000" else text


def _percent(value: float) -> str:
    text = f"{100 * value:.1f}"
    return "0.0" if text == "-0.0" else text


def _pictures(one: Quantity, kind: str = "") -> str:
    return f"{one.pictures:,} {kind + ' ' if kind else ''}picture{'' if one.pictures == 1 else 's'}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _join(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
