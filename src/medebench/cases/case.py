"""One thing to do, and where its pictures lie."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from medebench.errors import one_line


@dataclass(frozen=True, slots=True)
class Case:
    """What to do, with which images, and what the result is compared with.

    Paths are absolute; nothing is opened before `open_case`.

    >>> Case("7", None, "Which side is the effusion on?", answer="left")
    Case('7', 'Which side is the effusion on?')
    """

    id: str
    #: The image that is edited or asked about; None where an image is made from text alone.
    previous: Path | None
    prompt: str
    organ: str = ""
    task: str = ""
    reference: Path | None = None
    roi: Path | None = None
    #: What must stay as it is, where an editor takes two masks; the ROI is then what may be edited.
    keep: Path | None = None
    rephrased_prompt: str = ""
    description: str = ""
    #: What the previous image shows, for models that are told what a picture shows.
    caption: str = ""
    key_concept: str = ""
    modality: str = ""
    url: str = ""
    #: Significant bits of a 16-bit picture (12 for most scanners); None = the file's own depth.
    bits: int | None = None
    #: Further input images by role, beside the previous one.
    images: Mapping[str, Path] = field(default_factory=dict, hash=False)
    #: What may be answered, where there is a choice.
    choices: tuple[str, ...] = ()
    #: The reference, where it is a text, alone or beside the image.
    answer: str = ""
    #: What can be checked of an answer whose reference is longer ("left", in a sentence about it).
    key: str = ""
    #: On whose grid outputs are compared: where a sharper image is asked for, on the reference's.
    grid: Literal["previous", "reference"] = "previous"
    #: Named groups besides organ, task and modality ("subtask", "difficulty").
    groups: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Keys of the source that medebench gives no meaning to.
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __repr__(self) -> str:
        return f"Case({self.id!r}, {one_line(self.prompt, 60)!r})"

    def _repr_html_(self) -> str:
        from medebench.cases.case_view import case_html
        from medebench.cases.open_case import open_case

        return case_html(open_case(self))

    def texts(self) -> dict[str, str]:
        """What a person wrote about the case, by field name."""
        told = {name: getattr(self, name) for name in ("prompt", "rephrased_prompt", "description")}
        # Few sets have these; the digests of the others must not change.
        rare = {"caption": self.caption, "answer": self.answer, "choices": "\n".join(self.choices)}
        rare |= {"key": self.key, "grid": "" if self.grid == "previous" else self.grid}
        return told | {name: text for name, text in rare.items() if text}

    def group(self, name: str) -> str:
        """The group of this name that the case is in ("organ", "task", "modality", ...), or ""."""
        if name in ("organ", "task", "modality"):
            return str(getattr(self, name))
        return self.groups.get(name, "")

    def inputs(self) -> dict[str, Path]:
        """The images that a system is given, by role."""
        first = {} if self.previous is None else {"previous": self.previous}
        return first | dict(self.images)

    def files(self) -> dict[str, Path]:
        """The pictures the case has, by role."""
        roles = ("previous", "reference", "roi", "keep")
        own = {role: path for role in roles if (path := getattr(self, role)) is not None}
        return own | dict(self.images)


_RESERVED = {"con", "prn", "aux", "nul"} | {f"{n}{i}" for n in ("com", "lpt") for i in range(1, 10)}


def id_problem(case_id: str) -> str | None:
    """Why `case_id` cannot name a file on every system, or None if it can."""
    if not case_id:
        return "is empty"
    if len(case_id.encode("utf-8", "replace")) > 120:
        return "is longer than 120 bytes"
    if case_id[0] in ".-" or case_id != case_id.strip() or case_id[-1] == ".":
        return "begins with '.' or '-', or ends with '.' or a space"
    if case_id.partition(".")[0].casefold() in _RESERVED:
        return "is a name that Windows keeps for devices"
    bad = {c for c in case_id if c in '/\\:*?"<>|' or unicodedata.category(c)[0] == "C"}
    if bad:
        return f"holds {', '.join(sorted(map(repr, bad)))}, which cannot be part of a file name"
    return None
