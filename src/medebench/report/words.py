"""The finding in plain words, made from the numbers and never saying more than they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medebench.report.collect import Material
from medebench.report.facts import STAND_IN, Score, dimensions
from medebench.report.statistics import Estimate, Statistics
from medebench.report.tables import best_of

#: Where a control beats models by its very nature, which is no news.
_EXPECTED = {
    "identity": ("cp", "vq"),
    "reference": ("ea", "vq"),
    "blur": ("cp",),
}


@dataclass(frozen=True)
class Finding:
    """Sentences: who leads on what and how surely; then what to mind when reading that."""

    lead: tuple[str, ...]
    context: tuple[str, ...]


def finding(material: Material, statistics: Statistics, headline: str) -> Finding:
    leads = dimensions(material.scores, headline)
    first, then = [_extent(material)], []
    if material.models:
        first += [_leader(material, statistics, score) for score in leads]
        first += _power(material, statistics, leads)
        then += _beaten(material, statistics, leads)
    else:
        first.append("Only controls were run, so there is no model to rank.")
    names = [score.label for score in leads if score.stand_in]
    if names:
        verb = "comes" if len(names) == 1 else "come"
        then.insert(0, f"{_join(names)} {verb} from a stand-in judge ({STAND_IN}).")
    then += _scale(material, statistics, leads)
    then += _inflation(material, statistics)
    return Finding(tuple(filter(None, first)), tuple(then))


def _extent(material: Material) -> str:
    models, controls = len(material.models), len(material.controls)
    who = _join(
        [_count(n, noun) for n, noun in ((models, "model"), (controls, "control run")) if n]
    )
    if material.same_cases:
        same = "the same " if len(material.entries) > 1 else ""
        return f"{who} on {same}{_count(len(material.shared), 'case')}."
    if material.shared:
        shared = len(material.shared)
        return (
            f"{who}, which do not all cover the same cases: what follows is over the "
            f"{_count(shared, 'case')} that every run has."
        )
    return f"{who}, which share no case: their averages cannot be compared."


def _leader(material: Material, statistics: Statistics, score: Score) -> str:
    means = {e.name: _mean(material, statistics, e.name, score) for e in material.models}
    known = {name: one for name, one in means.items() if one.mean is not None}
    if not known:
        return f"No model has a {score.label} score."
    leaders = best_of(score, {name: one.mean for name, one in known.items()})
    value = _value(score, known[leaders[0]])
    if len(material.models) == 1:
        return f"{leaders[0]} scores {value} on {score.label}."
    if not material.shared:
        return ""
    if len(leaders) > 1:
        return f"{_join(leaders)} share the best {score.label}, {value}."
    [leader] = leaders
    others = [name for name in known if name != leader]
    if not others:
        return f"Only {leader} has a {score.label} score, {value}."
    behind = [n for n in others if _significant(statistics, score, leader, n)]
    sees = next(e.sees for e in material.models if e.name == leader)
    # An advantage that the others do not have belongs into the same sentence.
    who = f"{leader}, which {sees}," if sees else leader
    start = f"{who} has the best {score.label}, {value}"
    if not behind:
        whom = others[0] if len(others) == 1 else f"any of the {len(others)} others"
        return f"{start}, but not significantly better than {whom}."
    if len(behind) == len(others):
        whom = others[0] if len(others) == 1 else f"all {len(others)} others"
        return f"{start}, significantly better than {whom}."
    rest = [name for name in others if name not in behind]
    whom = _join(behind) if len(behind) <= 3 else f"{len(behind)} of the {len(others)} others"
    tied = f"; {_join(rest)} cannot be told apart from it" if len(rest) <= 3 else ""
    return f"{start}, significantly better than {whom}{tied}."


def _significant(statistics: Statistics, score: Score, leader: str, other: str) -> bool:
    pair = statistics.against(score.name, leader, other)
    if pair is None or pair.difference is None or not pair.significant():
        return False
    ahead = pair.difference if pair.run_a == leader else -pair.difference
    return score.wins(ahead, 0.0)


def _power(material: Material, statistics: Statistics, leads: Sequence[Score]) -> list[str]:
    """Say so when no difference, however large, could have come out significant."""
    for score in leads:
        pairs = statistics.pairs.get(("models", score.name), [])
        if pairs and all(least_p(p.n_clusters) * len(pairs) > 0.05 for p in pairs):
            few = max(pair.n_clusters for pair in pairs)
            return [
                f"With {_count(few, 'source image')} and {_count(len(pairs), 'pair')} of models no "
                "difference can reach significance after correction; more cases are needed."
            ]
    return []


def least_p(clusters: int) -> float:
    """The smallest p a two-sided sign-flip test can give."""
    return min(1.0, 2.0 ** (1 - clusters))


def _beaten(material: Material, statistics: Statistics, leads: Sequence[Score]) -> list[str]:
    """Controls that score higher than every model: a warning about the score, or the models."""
    found: dict[tuple[str, ...], list[str]] = {}
    for score in leads:
        means = {e.name: _mean(material, statistics, e.name, score).mean for e in material.entries}
        best = best_of(score, {e.name: means[e.name] for e in material.models})
        top = means[best[0]] if best else None
        if top is None or not material.shared:
            continue
        over = tuple(
            e.name
            for e in material.controls
            if score.dimension not in _EXPECTED.get(e.run.info.editor, ())
            and (mean := means[e.name]) is not None
            and score.wins(mean, top)
        )
        if over:
            found.setdefault(over, []).append(score.label)
    return [
        (f"The control {who[0]} scores" if len(who) == 1 else f"The controls {_join(who)} score")
        + f" higher on {_join(labels)} than every model: read that with care."
        for who, labels in found.items()
    ]


def _scale(material: Material, statistics: Statistics, leads: Sequence[Score]) -> list[str]:
    words = {"identity": "doing nothing", "reference": "copying the answer"}
    found = []
    for entry in material.controls:
        if entry.run.info.editor in words:
            values = [
                f"{score.label} {score.text(mean)}"
                for score in leads
                if (mean := _mean(material, statistics, entry.name, score).mean) is not None
            ]
            if values:
                found.append(f"{words[entry.run.info.editor]} gives {_join(values)}")
    return [f"For scale: {'; '.join(found)}."] if found else []


def _inflation(material: Material, statistics: Statistics) -> list[str]:
    honest, published = material.score("cp"), material.score("cp_published")
    who = material.models or material.entries
    if not honest or not published:
        return []
    pairs = [
        (first, second)
        for e in who
        if (first := _mean(material, statistics, e.name, published).mean) is not None
        and (second := _mean(material, statistics, e.name, honest).mean) is not None
    ]
    if not pairs:
        return []
    gap = sum(first - second for first, second in pairs) / len(pairs)
    if gap < 0.005:
        return []
    noun = "models" if material.models else "runs"
    return [
        f"The published CP flatters: averaged over the {noun} it lies {gap:.2f} above the CP that "
        "counts only what lies outside the ROI."
        if len(pairs) > 1
        else f"The published CP flatters: it lies {gap:.2f} above the CP that counts only what "
        "lies outside the ROI."
    ]


def _mean(material: Material, statistics: Statistics, run: str, score: Score) -> Estimate:
    found = statistics.overall.get((material.basis, run, score.name))
    return found.micro if found else Estimate()


def _value(score: Score, one: Estimate) -> str:
    text = score.text(one.mean)
    if one.low is None or one.high is None:
        return text
    return f"{text} (95 % interval {score.text(one.low)} to {score.text(one.high)})"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _join(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
