"""What a reader must know of how outputs were steered: settings that were chosen, judges that
looked on, judges of the system's own family.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from medebench.models.model_family import model_families
from medebench.page.number import listed
from medebench.page.score_columns import Score, describe
from medebench.reporting.collect import Entry, Material
from medebench.runs.run_folder import Tried
from medebench.settings import in_words

#: Settings of systems that name a model or another system.
_MODEL_SETTINGS = ("model", "name", "vlm", "writer", "rewriter")


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


def of_one_family(entries: Sequence[Entry], columns: Sequence[Score]) -> list[str]:
    """A judge may favour what a model of its own family has made; where that may be, by run."""
    found = []
    for entry in entries:
        own = set(model_families(_made_by(entry)))
        labels: dict[str, list[str]] = {}
        for score in columns:
            for name in own & set(model_families(_asked(score.judge))):
                labels.setdefault(name, []).append(score.label)
        found += [
            f"{listed(names)} of {entry.name}: judge and system are of one family ({family}); such "
            "a judge may favour its own, so have another one judge as well."
            for family, names in sorted(labels.items())
        ]
    return found


def _made_by(entry: Entry) -> str:
    """The names of the models that made the outputs: not of judges, not words of prompts."""
    info = entry.run.info
    return " ".join([info.editor, *_models({"one": info.settings, "of": info.sweep})])


def _models(given: object) -> Iterator[str]:
    """What settings say of models, those of a system inside of another among them."""
    if isinstance(given, list):
        for one in given:
            yield from _models(one)
    if isinstance(given, dict):
        for key, value in given.items():
            if isinstance(value, str) and key in _MODEL_SETTINGS:
                yield value
            yield from _models(value)


def _asked(judge: str) -> str:
    """The judge's name and that of the model that answered, without the rubric's."""
    return re.sub(r"\+[^,]*", "", judge.partition(", rubric ")[0])


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
