"""What a reader must know of how outputs were steered: settings that were chosen, judges that
looked on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medebench.report.collect import Entry, Material
from medebench.report.facts import Score, describe
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
            f"{score.text(one.interval[0])} to {score.text(one.interval[1])}"
            if one.interval
            else "–",
            f"{one.scored} of {one.asked}",
            number == tuned.best,
        )
        for number, one in enumerate(tuned.tried)
    )
    return TunedRun(entry.name, words, score.label, tried)


def not_blind(entries: Sequence[Entry], columns: Sequence[Score]) -> list[str]:
    """A judge that steered an editor must not be taken as the judge of its outputs."""
    found = []
    for entry in entries:
        looked = {_model(one) for one in entry.run.info.judged_by.split(", ") if one}
        labels = [s.label for s in columns if s.judge and _model(s.judge) in looked]
        if labels:
            found.append(
                f"{' and '.join(labels)} of {entry.name} are not blind: the same judge "
                f"({', '.join(sorted(looked))}) looked at its outputs while they were made and "
                "had them made again."
            )
    return found


def _model(judge: str) -> str:
    """ "openai:gpt-4o" of "openai:gpt-4o+prompt, temperature 0": other rubrics, same eyes."""
    return judge.partition(",")[0].partition("+")[0]
