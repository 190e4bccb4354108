"""What annotators are asked: one question for each dimension in which outputs are ranked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from medebench.errors import InputError
from medebench.judge.rubric_files import load_rubric
from medebench.tasks import Task
from medebench.tasks.editing import EDITING as EDITING_TASK


class Question(BaseModel):
    key: str
    name: str
    question: str
    hint: str = ""


_FILE = Path(__file__).with_name("questions.json")
*_EDITING, OVERALL = TypeAdapter(list[Question]).validate_json(_FILE.read_bytes())
#: The dimensions of editing, by key.
EDITING = {one.key: one for one in _EDITING}
#: A line of a rubric that says what a score stands for: "7-8 = ...".
_SCALE = re.compile(r"\d+(\s*[-–]\s*\d+)?\s*=")


def usual_questions(task: Task) -> list[Question]:
    """Those of editing, one for each score of the task's rubric, or a single one."""
    if task == EDITING_TASK:
        return list(EDITING.values())
    if not task.rubric:
        return [OVERALL]
    rubric = load_rubric(task.rubric)
    return [_of_criterion(score, rubric.criteria[score]) for score in rubric.scores]


def choose_questions(task: Task, keys: Sequence[str] | None) -> list[Question]:
    """The usual questions of the task, or those with these keys, in this order."""
    usual = usual_questions(task)
    if keys is None:
        return usual
    known = {one.key: one for one in (*usual, OVERALL)}
    if unknown := [one for one in keys if one not in known]:
        raise InputError(f"dimensions: no '{unknown[0]}'; choose from {', '.join(known)}")
    if not keys:
        raise InputError(f"dimensions: none given; choose from {', '.join(known)}")
    return [known[key] for key in dict.fromkeys(keys)]


def _of_criterion(score: str, criterion: str) -> Question:
    """What a rubric tells a model, without the scale, which people who rank do not need."""
    name = score.replace("-", " ").capitalize() if len(score) > 3 else score.upper()
    lines = [line for line in criterion.splitlines() if not _SCALE.match(line.strip())]
    hint = " ".join(" ".join(lines).split()).removeprefix(f"{name}: ")
    return Question(
        key=score,
        name=name,
        question=f"Which output is best in terms of {name.lower() if len(score) > 3 else name}?",
        hint=hint[:1].upper() + hint[1:],
    )
