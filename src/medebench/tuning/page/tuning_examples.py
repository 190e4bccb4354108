"""A few test cases to look at: what came in, what should come out, and what came out when."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import polars as pl

from medebench.cases import CaseSet, open_case
from medebench.errors import MedebenchError, one_line
from medebench.files import sha256
from medebench.images.picture import Picture, data_range, match, read_picture
from medebench.page.page_folder import Folder
from medebench.page.score_columns import Score
from medebench.page.web_images import shrink, to_bytes, webp
from medebench.runs.run_folder import Run
from medebench.tuning.page.tuning_formats import (
    ARMS,
    arm_text,
    scores_of,
    task_label,
    tasks_of,
)
from medebench.tuning.tuning_answers import TuningAnswers
from medebench.tuning.tuning_design import Arm, Untrained
from medebench.tuning.tuning_outcome import TuningOutcome

Asked = TypeVar("Asked")
#: Pixels of the longest side.
SIDE = 320
_QUALITY = 80


class Made(NamedTuple):
    """Which output of a case: the columns of `TuningOutcome.scores` that name its run."""

    task: str
    arm: Arm | Untrained
    samples: int
    draw: int
    seed: int
    fold: int


class TuningPictures(Protocol):
    """The pictures of a case; a MedebenchError is shown in place of the picture it is about."""

    def prompt(self, case: str) -> str: ...

    def before(self, case: str) -> Picture: ...

    def reference(self, case: str) -> Picture | None: ...

    def output(self, case: str, made: Made) -> Picture | None:
        """None where there is no output."""


@dataclass(frozen=True)
class RunPictures:
    """Pictures from a set of cases and the run folders of an experiment."""

    cases: CaseSet
    #: The run that holds such outputs, if there is one.
    find: Callable[[Made], Run | None]

    def prompt(self, case: str) -> str:
        return self.cases[case].prompt

    def before(self, case: str) -> Picture:
        return _eight_bits(open_case(self.cases[case]).previous, self.cases[case].bits)

    def reference(self, case: str) -> Picture | None:
        one = self.cases[case]
        return None if one.reference is None else _eight_bits(open_case(one).reference, one.bits)

    def output(self, case: str, made: Made) -> Picture | None:
        run = self.find(made)
        if run is None:
            return None
        path = run.output_path(case, 0)
        return _eight_bits(read_picture(path), self.cases[case].bits) if path.is_file() else None


def _eight_bits(picture: Picture, bits: int | None) -> Picture:
    return to_bytes(picture, data_range(picture, bits))


@dataclass(frozen=True)
class Shot:
    label: str
    #: Relative to the page; empty where there is no picture, and `reason` says why.
    file: str = ""
    value: str = ""
    reason: str = ""
    control: bool = False
    width: int = 0
    height: int = 0


@dataclass(frozen=True)
class Example:
    task: str
    case: str
    #: Why this one was taken.
    why: str
    prompt: str
    shots: tuple[Shot, ...]


def make_examples(
    outcome: TuningOutcome,
    answers: TuningAnswers,
    pictures: TuningPictures,
    folder: Folder,
) -> list[Example]:
    """Three cases of each task, chosen by what the most pairs did to their score."""
    score = scores_of(outcome, answers).get(answers.primary)
    if score is None:
        return []
    arm: Arm = "per-sample" if "per-sample" in outcome.design.arms else outcome.design.arms[0]
    return [
        _example(outcome, pictures, folder, score, arm, task, case, why)
        for task in tasks_of(outcome)
        for case, why in chosen(outcome, task, arm, score)
    ]


def chosen(outcome: TuningOutcome, task: str, arm: Arm, score: Score) -> list[tuple[str, str]]:
    """The cases that gained most, in the middle, and least; means over draws and seeds."""
    own = outcome.scores.filter(
        (pl.col("task") == task) & (pl.col("metric") == score.name) & ~pl.col("elsewhere")
    ).drop_nulls("value")
    most = max(outcome.design.samples)
    after = own.filter((pl.col("arm") == arm) & (pl.col("samples") == most))
    before = own.filter(pl.col("arm") == "untouched")
    after = after.group_by("case").agg(pl.col("value").mean())
    before = before.group_by("case").agg(pl.col("value").mean().alias("zero"))
    sign = -1 if score.better == "lower" else 1
    joined = after.join(before, on="case").select(
        "case", change=sign * (pl.col("value") - pl.col("zero"))
    )
    order = joined.sort(["change", "case"], descending=[True, False])["case"].to_list()
    if not order:
        return []
    named = {0: "gained most", len(order) // 2: "in the middle", len(order) - 1: "gained least"}
    return [(order[place], why) for place, why in sorted(named.items())]


def _example(
    outcome: TuningOutcome,
    pictures: TuningPictures,
    folder: Folder,
    score: Score,
    arm: Arm,
    task: str,
    case: str,
    why: str,
) -> Example:
    before, trouble = _asked(lambda: pictures.before(case))

    def shot(label: str, make: Callable[[], Picture | None], made: Made | None = None) -> Shot:
        picture, problem = _asked(make)
        value = "" if made is None else _value(outcome, score, case, made)
        control = made is not None and ARMS[made.arm].control
        if picture is None:
            return Shot(label, "", value, problem or "no output", control)
        if before is not None:
            picture = match(picture, before)
        small = shrink(picture, SIDE)
        data = webp(small, _QUALITY)
        name = f"assets/examples/{sha256(data)[:20]}.webp"
        folder.write(name, data)
        return Shot(label, name, value, "", control, small.shape[1], small.shape[0])

    shots = [shot("input", lambda: pictures.before(case))]
    shots.append(shot("reference", lambda: pictures.reference(case)))
    for made in _outputs(outcome, arm, task, case):
        label = arm_text(made.arm, made.samples or None)
        if made.arm == arm:
            label = f"after {made.samples} pairs"
        shots.append(shot(label, lambda made=made: pictures.output(case, made), made))  # type: ignore[misc]
    prompt, _ = _asked(lambda: pictures.prompt(case))
    return Example(task_label(task), case, why, prompt or trouble, tuple(shots))


def _outputs(outcome: TuningOutcome, arm: Arm, task: str, case: str) -> list[Made]:
    """Of the first draw and seed: untouched, after each number of pairs, after shuffled ones."""
    fold = next((one.fold for one in outcome.folds if one.task == task and case in one.test), 0)
    found = [Made(task, "untouched", 0, -1, -1, fold)]
    wanted: list[tuple[Arm, int]] = [(arm, n) for n in outcome.design.samples if n]
    if "shuffled" in outcome.design.arms:
        wanted.append(("shuffled", max(outcome.design.samples)))
    return found + [Made(task, one, n, 0, 0, fold) for one, n in wanted]


def _value(outcome: TuningOutcome, score: Score, case: str, made: Made) -> str:
    rows = outcome.scores.filter(
        (pl.col("task") == made.task)
        & (pl.col("case") == case)
        & (pl.col("metric") == score.name)
        & (pl.col("arm") == made.arm)
        & (pl.col("samples") == made.samples)
        & (pl.col("draw") == made.draw)
        & (pl.col("seed") == made.seed)
        & ~pl.col("elsewhere")
    )["value"].drop_nulls()
    return score.text(float(rows[0])) if len(rows) else ""


def _asked(make: Callable[[], Asked]) -> tuple[Asked | None, str]:
    try:
        return make(), ""
    except MedebenchError as error:
        # The page may be published: what is wrong, not on whose disk.
        return None, one_line(re.sub(r"\S*[/\\]", "", str(error)), 160)
