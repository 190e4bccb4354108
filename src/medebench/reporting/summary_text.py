"""The finding in plain words, made from the numbers and never saying more than they do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from medebench.analysis import Comparison, least_p
from medebench.analysis.estimate import Estimate
from medebench.page.number import counted, listed
from medebench.page.score_columns import STAND_IN, Score, dimensions
from medebench.reporting.collect import Material
from medebench.reporting.headline_table import best_of, loses
from medebench.reporting.statistics import MODELS, Statistics
from medebench.reporting.steering import is_blind

#: Where a control beats models by its very nature, which is no news.
_EXPECTED = {
    "identity": ("cp", "vq"),
    "reference": ("ea", "intended", "vq"),
    "blur": ("cp",),
}


@dataclass(frozen=True)
class Finding:
    """Sentences: who leads on what and how surely; then what to mind when reading that."""

    lead: tuple[str, ...]
    context: tuple[str, ...]


def finding(material: Material, statistics: Statistics, headline: str) -> Finding:
    leads = dimensions(material.scores, headline, material.task)
    first, then = [_extent(material)], []
    if material.models:
        ranked = [score for score in leads if score.ranked]
        first += [_leader(material, statistics, score) for score in ranked[:1]]
        then += [_leader(material, statistics, score) for score in ranked[1:]]
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
        [counted(n, noun) for n, noun in ((models, "model"), (controls, "control run")) if n]
    )
    if material.mixed:
        many = counted(len(material.places), "case")
        over = f"; compared are the {len(material.shared):,} that all have who do such work"
        return (
            f"{who} on {many} of {counted(len(material.frame['group'].unique()), 'task')}, each "
            f"score over the cases it is about{'' if material.same_cases else over}."
        )
    if material.same_cases:
        same = "the same " if len(material.entries) > 1 else ""
        return f"{who} on {same}{counted(len(material.shared), 'case')}."
    if material.shared:
        shared = len(material.shared)
        return (
            f"{who}, which do not all cover the same cases: what follows is over the "
            f"{counted(shared, 'case')} that every run has."
        )
    return f"{who}, which share no case: their averages cannot be compared."


def _leader(material: Material, statistics: Statistics, score: Score) -> str:
    level = statistics.levels[material.basis, score.name]
    known = [
        e.name
        for e in material.models
        if _mean(material, statistics, e.name, score).value is not None and is_blind(e, score)
    ]
    if not known and not all(is_blind(e, score) for e in material.models):
        return ""
    if not known:
        return f"No model has a {score.label} score."
    if len(material.models) == 1:
        value = _value(score, _mean(material, statistics, known[0], score))
        return f"{known[0]} scores {value} on {score.label}."
    if not material.shared:
        return ""
    if not level.cases:
        return f"{score.label}: no case is scored for all models, so none is called the best."
    named = len(material.shared) if level.whole else len(level.cases)
    basis = "" if level.whole else f" over the {counted(named, 'case')} that all have scored"
    means = level.of(material.mean)
    leaders = best_of(score, {name: one.value for name, one in means.items()})
    value = _value(score, means[leaders[0]])
    if len(leaders) > 1:
        return f"{_join(leaders)} share the best {score.label}{basis}, {value}."
    [leader] = leaders
    others = [name for name in known if name != leader]
    if not others:
        return f"Only {leader} has a {score.label} score, {value}."
    basis_of, metric = material.basis, score.name
    pairs = {name: statistics.against(basis_of, metric, leader, name) for name in others}
    behind = [name for name, pair in pairs.items() if pair and loses(score, pair, name)]
    sees = next(e.sees for e in material.models if e.name == leader)
    # An advantage that the others do not have belongs into the same sentence.
    who = f"{leader}, which {sees}," if sees else leader
    start = f"{who} has the best {score.label}{basis}, {value}"
    tested = _tested([pair for pair in pairs.values() if pair], named)
    if not behind:
        whom = others[0] if len(others) == 1 else f"any of the {len(others)} others"
        return f"{start}, but not significantly better than {whom}{tested}."
    if len(behind) == len(others):
        whom = others[0] if len(others) == 1 else f"all {len(others)} others"
        whom = "both others" if len(others) == 2 else whom
        return f"{start}, significantly better than {whom}{tested}."
    rest = [name for name in others if name not in behind]
    whom = _join(behind) if len(behind) <= 3 else f"{len(behind)} of the {len(others)} others"
    tied = f"; {_join(rest)} cannot be told apart from it" if len(rest) <= 3 else ""
    return f"{start}, significantly better than {whom}{tied}{tested}."


def _tested(pairs: Sequence[Comparison], named: int) -> str:
    """Over how many cases the pairs were tested, where that is not the number just named."""
    counts = sorted({pair.n_cases for pair in pairs})
    if not counts or counts == [named]:
        return ""
    many = counted(counts[-1], "case")
    if len(counts) > 1:
        return f" (tested in pairs over the {counts[0]:,} to {many} that each two have scored)"
    return f" (tested over the {many} that {'both' if len(pairs) == 1 else 'each two'} have scored)"


def _power(material: Material, statistics: Statistics, leads: Sequence[Score]) -> list[str]:
    """Say so when no difference, however large, could have come out significant."""
    found = {s.label: statistics.compared(material.basis, MODELS, s.name) for s in leads}
    found = {label: pairs for label, pairs in found.items() if pairs}
    weak = {
        label: pairs
        for label, pairs in found.items()
        if all(least_p(pair.n_clusters) * len(pairs) > 0.05 for pair in pairs)
    }
    if not weak:
        return []
    few = max(pair.n_clusters for pairs in weak.values() for pair in pairs)
    many = max(map(len, weak.values()))
    where = "" if len(weak) == len(found) else f" in {_join(list(weak))}"
    return [
        f"With {counted(few, 'source image')} and {counted(many, 'pair')} of models no "
        f"difference{where} can reach significance after correction; more cases are needed."
    ]


def _beaten(material: Material, statistics: Statistics, leads: Sequence[Score]) -> list[str]:
    """Controls that score higher than every model: a warning about the score, or the models."""
    found: dict[tuple[str, ...], list[str]] = {}
    if not material.shared:
        return []
    for score in leads:
        level = statistics.levels[material.basis, score.name]
        models = [statistics.values_of(material.basis, name, score.name) for name in level.micro]
        over: dict[str, str] = {}
        for entry in material.controls:
            own = statistics.values_of(material.basis, entry.name, score.name)
            expected = score.dimension in _EXPECTED.get(entry.run.info.editor, ())
            cases = level.cases & own.keys()
            if cases and not expected:
                mean = _average(own, cases)
                if all(score.wins(mean, _average(model, cases)) for model in models):
                    whole = level.whole and cases == level.cases == own.keys()
                    count = counted(len(cases), "case")
                    over[entry.name] = "" if whole else f" (over the {count} that all have scored)"
        for where in dict.fromkeys(over.values()):
            who = tuple(name for name, one in over.items() if one == where)
            found.setdefault(who, []).append(score.label + where)
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
                f"{score.label} {score.text(mean)}{_other(material, statistics, entry.name, score)}"
                for score in leads
                if (mean := _mean(material, statistics, entry.name, score).value) is not None
            ]
            if values:
                found.append(f"{words[entry.run.info.editor]} gives {_join(values)}")
    return [f"For scale: {'; '.join(found)}."] if found else []


def _other(material: Material, statistics: Statistics, control: str, score: Score) -> str:
    """Says so where a control's mean is over other cases than those the models are ranked by."""
    own = statistics.values_of(material.basis, control, score.name).keys()
    level = statistics.levels[material.basis, score.name]
    same = not level.micro or own == level.cases
    return "" if same else f" (over the {counted(len(own), 'case')} it has scored)"


def _average(values: Mapping[str, float], cases: Collection[str]) -> float:
    return sum(values[case] for case in sorted(cases)) / len(cases)


def _inflation(material: Material, statistics: Statistics) -> list[str]:
    honest, published = material.score("cp"), material.score("cp_published")
    who = material.models or material.entries
    if not honest or not published:
        return []
    pairs = [
        (first, second)
        for e in who
        if (first := _mean(material, statistics, e.name, published).value) is not None
        and (second := _mean(material, statistics, e.name, honest).value) is not None
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
    return found.of(material.mean) if found else Estimate()


def _value(score: Score, one: Estimate) -> str:
    text = score.text(one.value)
    if one.low is None or one.high is None:
        return f"{text} ({one.reason})" if one.reason else text
    return f"{text} (95 % interval {score.text(one.low)} to {score.text(one.high)})"


def _join(words: Sequence[str]) -> str:
    return listed(words, len(words))
