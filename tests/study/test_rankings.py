"""From answers in letters to ranks of models."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from medebench.study.design import (
    RUINED,
    Annotator,
    Design,
    Output,
    StudiedRun,
    StudyCase,
    Task,
)
from medebench.study.rankings import About, Given, control_passed, from_answers

MODELS = ["x", "y", "z"]


@dataclass(frozen=True)
class Answer:
    annotator: str
    place: int
    state: str
    ranks: dict[str, list[list[str]]]
    seconds: float = field(default=1.0)


def _case(number: int) -> StudyCase:
    outputs = {name: Output(picture=f"{number}{name}.png") for name in [*MODELS, RUINED]}
    return StudyCase(
        id=f"c{number}",
        group="Eyes",
        source=f"s{number}",
        texts=[],
        outputs=outputs,
    )


@pytest.fixture
def design() -> Design:
    tasks = [
        Task(kind="trial", case=3, order=["x", "y", "z"]),
        Task(kind="case", case=0, order=["z", "x", "y"]),
        Task(kind="control", case=2, order=["x", RUINED, "y"]),
        Task(kind="case", case=1, order=["y", "z", "x"]),
        Task(kind="repeat", case=0, order=["x", "y", "z"]),
    ]
    return Design(
        title="t",
        created="2026-01-01",
        seed=0,
        dimensions=["ea", "vq"],
        runs=[StudiedRun(name=name, editor=name, path=name) for name in MODELS],
        cases=[_case(i) for i in range(4)],
        annotators=[Annotator(name="a", tasks=tasks), Annotator(name="b", tasks=tasks)],
    )


def test_letters_become_models_and_only_finished_cases_count(design: Design):
    order = [["B"], ["A", "C"]]
    answers = [
        Answer("a", 0, "done", {"ea": order, "vq": order}),
        Answer("a", 1, "done", {"ea": order, "vq": [["C"], ["B"], ["A"]]}),
        Answer("a", 2, "done", {"ea": order, "vq": order}),
        Answer("a", 3, "draft", {"ea": order, "vq": []}),
        Answer("a", 4, "done", {"ea": [["A", "B", "C"]], "vq": order}),
        Answer("b", 1, "skipped", {"ea": order, "vq": order}),
    ]
    found = from_answers(design, answers)
    assert found.given == {
        Given("a", "c0", "ea", 1): {"x": 1.0, "z": 2.0, "y": 2.0},
        Given("a", "c0", "vq", 1): {"y": 1.0, "x": 2.0, "z": 3.0},
        Given("a", "c0", "ea", 2): {"x": 1.0, "y": 1.0, "z": 1.0},
        Given("a", "c0", "vq", 2): {"y": 1.0, "x": 2.0, "z": 2.0},
    }
    assert found.cases == {"c0": About("Eyes", "s0"), "c1": About("Eyes", "s1")}
    ranked = found.ranked("ea")
    assert ranked.cases == ("c0",)
    assert ranked.ranks[0].tolist() == [[1.0, 2.5, 2.5]]
    assert np.isnan(ranked.ranks[1]).all()


def test_one_can_leave_an_annotator_out(design: Design):
    order = {"ea": [["A"], ["B"], ["C"]], "vq": [["A"], ["B"], ["C"]]}
    both = from_answers(design, [Answer("a", 1, "done", order), Answer("b", 3, "done", order)])
    left = both.without(["a"])
    assert left.annotators == ("b",)
    assert left.ranked("ea").cases == ("c1",)
    assert both.ranked("ea", only=["c1"]).cases == ("c1",)


@pytest.mark.parametrize(
    ("groups", "passed"),
    [
        ([["A"], ["C"], ["B"]], True),
        ([["A"], ["B", "C"]], True),
        ([["A", "B", "C"]], False),
        ([["A"], ["B"], ["C"]], False),
        ([["B"], ["A"], ["C"]], False),
        ([], False),
    ],
)
def test_the_ruined_picture_belongs_below_all_others(groups: list[list[str]], passed: bool):
    task = Task(kind="control", case=0, order=["x", RUINED, "y"])
    last = [["A"], ["C"], ["B"]]
    assert control_passed(task, {"cp": last, "vq": groups}, ["ea", "cp", "vq"]) is passed
    assert control_passed(task, {"cp": groups, "vq": last}, ["cp", "vq"]) is passed
    # accuracy decides only where nothing else is asked, and there all may have failed alike
    assert control_passed(task, {"ea": groups, "vq": last}, ["ea", "vq"])
    alike = groups == [["A", "B", "C"]]
    assert control_passed(task, {"ea": groups}, ["ea"]) is (passed or alike)


def test_midranks_have_the_right_sum(design: Design):
    answers = [Answer("a", 1, "done", {"ea": [["A", "B"], ["C"]], "vq": [["C"], ["A", "B"]]})]
    for dimension in ("ea", "vq"):
        ranks = from_answers(design, answers).ranked(dimension).ranks[0, 0]
        assert math.isclose(float(ranks.sum()), 6.0)
