"""What is asked of whom: `study.json`, written once and never changed.

The answers are in the database; the design is what they mean. It names the models, so it stays with
the people who run the study: the panel shows letters.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from medebench.errors import InputError
from medebench.files import read_bytes, sha256

FILE = "study.json"
PICTURES = "pictures"
DATABASE = "answers.sqlite"
#: Takes the place of a model in a control: nobody who looks puts it first.
RUINED = "(ruined)"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Dimension = Literal["ea", "cp", "vq"]
Kind = Literal["trial", "case", "control", "repeat"]


class StudiedRun(BaseModel):
    """A run whose outputs are ranked, and where it was when the study was made."""

    name: str
    editor: str
    control: bool = False
    path: str


class Output(BaseModel):
    """A picture in `pictures/`, and the content hash of the file in the run it was made from."""

    picture: str
    sha256: str = ""


class StudyCase(BaseModel):
    """A case as it is shown; pictures are names of files in `pictures/`."""

    id: str
    organ: str = ""
    task: str = ""
    modality: str = ""
    source: str
    instruction: str
    #: The expected change in words.
    description: str = ""
    width: int
    height: int
    previous: str
    reference: str | None = None
    #: The border of the ROI, transparent elsewhere.
    outline: str | None = None
    #: Run name (or RUINED) -> output.
    outputs: dict[str, Output]


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
    format: Literal[1] = 1
    title: str
    created: str
    seed: int
    #: Which output of a case was taken.
    k: int = 0
    dimensions: list[Dimension]
    runs: list[StudiedRun]
    cases: list[StudyCase]
    annotators: list[Annotator]
    version: str = ""

    def annotator(self, name: str) -> Annotator | None:
        return next((one for one in self.annotators if one.name == name), None)


class Study:
    """An existing study folder."""

    def __init__(self, path: Path, design: Design, fingerprint: str) -> None:
        self.path = path
        self.design = design
        #: Tells this design from any other; a database belongs to one.
        self.fingerprint = fingerprint

    @cached_property
    def pictures(self) -> Path:
        return self.path / PICTURES


def open_study(path: str | Path) -> Study:
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
