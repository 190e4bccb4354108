"""People's ranks, wherever they came from: a study's database or somebody's table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from medebench.analysis.ranked import Ranked, midranks
from medebench.study.design import LETTERS, RUINED, Design, Task

Groups = Sequence[Sequence[str]]
State = Literal["draft", "done", "skipped"]
#: Dimension -> groups of letters from best to worst; letters of one group are tied.
Ranks = dict[str, list[list[str]]]


@dataclass(frozen=True)
class Answer:
    """What an annotator said about a task; letters as the panel showed them."""

    annotator: str
    place: int
    version: int
    state: State
    ranks: Ranks
    reason: str
    seconds: float
    saved_at: str


class Given(NamedTuple):
    """Who ranked which case in which dimension, and whether for the first or the second time."""

    annotator: str
    case: str
    dimension: str
    showing: int = 1


class About(NamedTuple):
    """Where a case belongs; cases of one source are not independent."""

    group: str
    source: str


@dataclass(frozen=True)
class Rankings:
    """Ranks of models by case; smaller is better, equal is a tie, any scale."""

    annotators: tuple[str, ...]
    models: tuple[str, ...]
    dimensions: tuple[str, ...]
    cases: dict[str, About]
    given: dict[Given, dict[str, float]] = field(default_factory=dict)
    #: Models that are controls of medebench (identity, reference, ...), as far as is known.
    controls: frozenset[str] = frozenset()
    #: Whether it is known which cases share a source.
    sources_known: bool = True
    #: Dimension -> what it is called, where the key does not say.
    names: Mapping[str, str] = field(default_factory=dict)
    #: What the cases are grouped by.
    grouping: str = "organ"

    def ranked(
        self, dimension: str, showing: int = 1, *, only: Collection[str] | None = None
    ) -> Ranked:
        """One dimension as midranks; cases that nobody ranked, or not in `only`, are left out."""
        wanted = (dimension, showing)
        mine = {key: one for key, one in self.given.items() if key[2:] == wanted}
        seen = {key.case for key in mine}
        cases = tuple(c for c in self.cases if c in seen and (only is None or c in only))
        places = {case: i for i, case in enumerate(cases)}
        people = {name: i for i, name in enumerate(self.annotators)}
        columns = {name: i for i, name in enumerate(self.models)}
        values = np.full((len(people), len(cases), len(columns)), np.nan)
        for key, ranks in mine.items():
            if key.case in places:
                for model, rank in ranks.items():
                    values[people[key.annotator], places[key.case], columns[model]] = rank
        sources = tuple(self.cases[case].source for case in cases)
        return Ranked(self.annotators, cases, self.models, sources, midranks(values))

    def without(self, names: Iterable[str]) -> Rankings:
        """The same without these annotators."""
        gone = set(names)
        left = tuple(name for name in self.annotators if name not in gone)
        given = {key: one for key, one in self.given.items() if key.annotator not in gone}
        return replace(self, annotators=left, given=given)

    def renamed(self, names: Mapping[str, str]) -> Rankings:
        """The same with other names for the annotators."""
        told = tuple(names[name] for name in self.annotators)
        rows = self.given.items()
        given = {key._replace(annotator=names[key.annotator]): ranks for key, ranks in rows}
        return replace(self, annotators=told, given=given)


def from_answers(design: Design, answers: Iterable[Answer]) -> Rankings:
    """What was ranked to the end; trials and controls say nothing about models."""
    given: dict[Given, dict[str, float]] = {}
    tasks = {(one.name, i): task for one in design.annotators for i, task in enumerate(one.tasks)}
    for answer in answers:
        task = tasks[answer.annotator, answer.place]
        if answer.state != "done" or task.kind not in ("case", "repeat"):
            continue
        showing = 1 if task.kind == "case" else 2
        case = design.cases[task.case].id
        for dimension, groups in answer.ranks.items():
            key = Given(answer.annotator, case, dimension, showing)
            given[key] = places_of(task, groups)
    # Not those that are shown only as control or trial.
    used = sorted({task.case for task in tasks.values() if task.kind == "case"})
    return Rankings(
        tuple(one.name for one in design.annotators),
        tuple(run.name for run in design.runs),
        tuple(design.dimensions),
        {one.id: About(one.group, one.source) for one in (design.cases[i] for i in used)},
        given,
        frozenset(run.name for run in design.runs if run.control),
        names={one.key: one.name for one in design.asked},
        grouping=design.grouping,
    )


def places_of(task: Task, groups: Groups) -> dict[str, float]:
    """Name of the output -> place, from groups of letters.

    >>> task = Task(kind="case", case=0, order=["x", "y", "z"])
    >>> places_of(task, [["B"], ["A", "C"]])
    {'y': 1.0, 'x': 2.0, 'z': 2.0}
    """
    return {
        task.order[LETTERS.index(letter)]: float(place)
        for place, group in enumerate(groups, start=1)
        for letter in group
    }


def control_passed(task: Task, ranks: Mapping[str, Groups], dimensions: Sequence[str]) -> bool:
    """Whether the ruined output was put above nothing, and below something.

    The second in each of preservation, quality and overall; else in one dimension at least. Not in
    editing accuracy: an output in which nothing was edited fails its instruction as thoroughly as a
    ruined one does, and may be tied with it.

    >>> task = Task(kind="control", case=0, order=["x", RUINED])
    >>> control_passed(task, {"vq": [["A"], ["B"]]}, ["vq"])
    True
    >>> control_passed(task, {"vq": [["A", "B"]]}, ["vq"])
    False
    """
    telling = [name for name in dimensions if name in ("cp", "vq", "overall")]
    below = []
    for dimension in telling or dimensions:
        places = places_of(task, ranks.get(dimension, ()))
        ruined = places.pop(RUINED, None)
        if ruined is None or not places or max(places.values()) > ruined:
            return False
        below.append(min(places.values()) < ruined)
    return all(below) if telling else any(below) or list(dimensions) == ["ea"]
