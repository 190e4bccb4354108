"""What is asked of whom: `study.json`, written once and never changed.

The answers are in the database; the design is what they mean. It names the models, so it stays with
the people who run the study: the panel shows letters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from medebench.errors import InputError
from medebench.files import read_bytes, sha256
from medebench.judge.rubric_files import load_rubric
from medebench.outputs import Part
from medebench.tasks import Task as CaseTask
from medebench.tasks.card import Side
from medebench.tasks.editing import EDITING as EDITING_TASK

FILE = "study.json"
PICTURES = "pictures"
DATABASE = "answers.sqlite"
#: Takes the place of a model in a control: nobody who looks puts it first.
RUINED = "(ruined)"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Kind = Literal["trial", "case", "control", "repeat"]


class Question(BaseModel):
    key: str
    name: str
    question: str
    hint: str = ""


_FILE = Path(__file__).with_name("questions.json")
*_EDITING, OVERALL = TypeAdapter(list[Question]).validate_json(_FILE.read_bytes())
#: The dimensions of editing, by key.
EDITING = {one.key: one for one in _EDITING}
#: A line of a rubric that says what a score stands for: "7-8 = ...", "highest = ...".
_SCALE = re.compile(r"(\d+(\s*[-–]\s*\d+)?|lowest|middle|highest)\s*=")


class StudiedRun(BaseModel):
    """A run whose outputs are ranked, and where it was when the study was made."""

    name: str
    editor: str
    control: bool = False
    path: str


class Output(BaseModel):
    """Files in `pictures/`, and the content hash of the output in the run they were made from."""

    picture: str | None = None
    text: str | None = None
    sha256: str = ""


class ShownText(BaseModel):
    label: str
    text: str
    side: Side = "case"


class ShownImage(BaseModel):
    """An image of the case; `name` is what the panel asks for it by."""

    name: str
    label: str
    picture: str
    side: Side = "case"
    #: The border of the marked region, transparent elsewhere.
    outline: str | None = None


class StudyCase(BaseModel):
    """A case as its task's card shows it."""

    id: str
    #: Its value of the group that the sample was drawn by.
    group: str = ""
    source: str
    texts: list[ShownText]
    images: list[ShownImage] = []
    #: What its outputs have; nothing where all cases of the study ask for the same.
    gives: list[Part] = []
    #: Of the frame that all images are shown in; 0 where there are none.
    width: int = 0
    height: int = 0
    #: Run name (or RUINED) -> output.
    outputs: dict[str, Output]

    @model_validator(mode="before")
    @classmethod
    def _of_format_1(cls, data: Any) -> Any:
        """Which knew nothing but editing."""
        if not isinstance(data, dict) or "instruction" not in data:
            return data
        texts: list[dict[str, Any]] = [{"label": "Instruction", "text": data["instruction"]}]
        if data.get("description"):
            text = {"label": "Expected change", "text": data["description"], "side": "reference"}
            texts.append(text)
        first: dict[str, Any] = {"name": "previous", "label": "Input"}
        images: list[dict[str, Any]] = [
            first | {"picture": data.get("previous"), "outline": data.get("outline")}
        ]
        if data.get("reference") is not None:
            reference = {"name": "reference", "label": "Reference", "side": "reference"}
            images += [reference | {"picture": data["reference"]}]
        return {"group": data.get("organ", ""), **data, "texts": texts, "images": images}

    @property
    def files(self) -> list[str]:
        """Names of all files in `pictures/` that belong to the case."""
        found = [name for one in self.images for name in (one.picture, one.outline)]
        found += [name for one in self.outputs.values() for name in (one.picture, one.text)]
        return [name for name in found if name is not None]

    @property
    def comparable(self) -> bool:
        """Whether outputs are images on the grid of the input, so that flicker shows a change."""
        pictures = any(one.picture is not None for one in self.outputs.values())
        return pictures and any(one.name == "previous" for one in self.images)


class Task(BaseModel):
    """One thing for one annotator to rank."""

    kind: Kind
    #: Number of the case in `Design.cases`.
    case: int
    #: Keys of the case's outputs in the order in which they are shown as A, B, C, ...
    order: list[str]


class Annotator(BaseModel):
    name: str
    #: In the order in which they are shown; a task is known by its place in this list.
    tasks: list[Task]


class Design(BaseModel):
    model_config = ConfigDict(extra="forbid")
    #: 1 knew editing alone: image in, image out, the sample drawn by organ.
    format: Literal[1, 2] = 2
    title: str
    created: str
    seed: int
    #: Which output of a case was taken.
    k: int = 0
    task: str = "editing"
    #: What is ranked: images, texts or both.
    gives: list[Part] = ["image"]
    #: The group of cases that the sample was drawn by.
    grouping: str = "organ"
    dimensions: list[str]
    #: What is asked in the dimensions that medebench has no words for.
    questions: list[Question] = []
    runs: list[StudiedRun]
    cases: list[StudyCase]
    annotators: list[Annotator]
    version: str = ""

    @property
    def asked(self) -> list[Question]:
        words = self._words
        return [words[key] for key in self.dimensions]

    @property
    def _words(self) -> dict[str, Question]:
        return {**EDITING, OVERALL.key: OVERALL, **{one.key: one for one in self.questions}}

    @model_validator(mode="after")
    def _all_in_words(self) -> Design:
        if unknown := [key for key in self.dimensions if key not in self._words]:
            raise ValueError(f"dimensions: no question is given for '{unknown[0]}'")
        return self

    def annotator(self, name: str) -> Annotator | None:
        return next((one for one in self.annotators if one.name == name), None)


@dataclass(eq=False, repr=False)
class Study:
    """An existing study folder."""

    path: Path
    design: Design
    #: Tells this design from any other; a database belongs to one.
    fingerprint: str

    def __repr__(self) -> str:
        counts = f"{len(self.design.cases)} cases, {len(self.design.annotators)} annotators"
        return f"Study({str(self.path)!r}, {counts})"

    @property
    def pictures(self) -> Path:
        return self.path / PICTURES


def open_study(path: str | Path) -> Study:
    """Open a study that exists.

    Args:
        path: its folder.

    Returns:
        What is asked of whom; the answers are in its database.

    >>> mb.open_study(tmp)
    Traceback (most recent call last):
    medebench.errors.InputError: ...: not a study (it has no study.json)
    """
    path = Path(path).expanduser().absolute()
    file = path / FILE
    if not file.is_file():
        raise InputError(f"{path}: not a study (it has no {FILE})")
    try:
        data = read_bytes(file)
        design = Design.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(f"{file}: {field}: {first['msg']}") from None
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from error
    return Study(path, design, sha256(data))


def usual_questions(task: CaseTask, gives: Sequence[Part] | None = None) -> list[Question]:
    """Those of editing, one for each score of the task's rubric, or a single one.

    `gives` are the parts that every output has, where the cases are of several kinds of work.
    """
    gives = task.gives if gives is None else gives
    if task == EDITING_TASK:
        return list(EDITING.values())
    if not task.rubric:
        return [OVERALL]
    rubric = load_rubric(task.rubric)
    # People are asked about nothing that such outputs do not have.
    scores = [one for one in rubric.scores if set(rubric.parts.get(one, ())) <= {*gives}]
    return [_of_criterion(score, rubric.criteria[score]) for score in scores]


def choose_questions(
    task: CaseTask, keys: Sequence[str] | None, gives: Sequence[Part] | None = None
) -> list[Question]:
    """The usual questions of the task, or those with these keys, in this order."""
    usual = usual_questions(task, gives)
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
