"""What a reader must know of how outputs were steered: settings that were chosen, judges that
looked on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from medebench.page.score_columns import Score, describe
from medebench.reporting.collect import Entry, Material
from medebench.runs.run_folder import Tried
from medebench.settings import in_words


@dataclass(frozen=True)
class TriedSetting:
    settings: str
    mean: str
    interval: str
    scored: str
    chosen: bool


@dataclass(frozen=True)
class TunedRun:
    """One run whose settings were found by a sweep."""

    name: str
    words: str
    label: str
    tried: tuple[TriedSetting, ...]


def tuned_runs(material: Material) -> list[TunedRun]:
    return [found for entry in material.entries if (found := _tuned(entry))]


def _tuned(entry: Entry) -> TunedRun | None:
    tuned = entry.run.info.tuned
    if tuned is None:
        return None
    (score,) = describe([tuned.metric], {})
    better = "highest" if tuned.higher_is_better else "lowest"
    words = (
        f"The settings of {entry.name} were chosen among {len(tuned.tried)} by the {better} mean "
        f"{score.label} on {tuned.cases} other cases, which share no picture with those "
        "reported here."
    )
    tried = tuple(
        TriedSetting(
            in_words(one.settings),
            score.text(one.mean),
            _interval(score, one),
            f"{one.scored} of {one.asked}",
            number == tuned.best,
        )
        for number, one in enumerate(tuned.tried)
    )
    return TunedRun(entry.name, words, score.label, tried)


def _interval(score: Score, one: Tried) -> str:
    if one.mean is None:
        return "–"
    if one.interval is None:
        return one.why or "no interval"
    return f"{score.text(one.interval[0])} to {score.text(one.interval[1])}"


def is_blind(entry: Entry, score: Score | None) -> bool:
    """Whether the score's judge is another than the one that steered the run's editor."""
    looked = {_model(one) for one in entry.run.info.judged_by.split(", ") if one}
    return score is None or not score.judge or _model(score.judge) not in looked


def not_blind(entries: Sequence[Entry], columns: Sequence[Score]) -> list[str]:
    """A judge that steered an editor must not be taken as the judge of its outputs."""
    found = []
    for entry in entries:
        labels = [score.label for score in columns if not is_blind(entry, score)]
        if labels:
            found.append(
                f"{' and '.join(labels)} of {entry.name} are not blind, and are not ranked: the "
                f"same judge ({entry.run.info.judged_by}) looked at its outputs while they were "
                "made and had them made again."
            )
    return found


def attempts(material: Material) -> list[str]:
    """Of runs that try several times: how often, and which attempt became the output."""
    return [text for entry in material.entries if (text := _attempts(entry))]


def _attempts(entry: Entry) -> str:
    details = [row.detail for row in entry.outputs.values() if row.detail.get("attempts")]
    again = [one for one in details if len(one["attempts"]) > 1]
    if not details:
        return ""
    chosen = Counter(one["chosen"] for one in again if isinstance(one.get("chosen"), int))
    kept = ", ".join(f"attempt {number + 1} in {count}" for number, count in sorted(chosen.items()))
    made = sum(len(one["attempts"]) for one in details)
    text = (
        f"{entry.name} made {made} attempts at {len(details)} outputs; {len(again)} were tried "
        "more than once"
    )
    return f"{text}. Of these the output is {kept}." if kept else f"{text}."


def _model(judge: str) -> str:
    """ "openai:gpt-4o" of "openai:gpt-4o+prompt, temperature 0": other rubrics, same eyes."""
    return judge.partition(",")[0].partition("+")[0]
