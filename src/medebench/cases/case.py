"""One thing to do, and where its pictures lie."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """An input picture, what to do with it, and what the result is compared with.

    Paths are absolute; nothing is opened before `medebench.cases.open_case`.
    """

    id: str
    previous: Path
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
    #: Keys of the source that medebench gives no meaning to.
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def texts(self) -> dict[str, str]:
        """What a person wrote about the case, by field name."""
        told = {
            "prompt": self.prompt,
            "rephrased_prompt": self.rephrased_prompt,
            "description": self.description,
        }
        # Few sets have captions; the digests of the others must not change.
        return told | ({"caption": self.caption} if self.caption else {})

    def files(self) -> dict[str, Path]:
        """The pictures the case has, by role."""
        roles = {
            "previous": self.previous,
            "reference": self.reference,
            "roi": self.roi,
            "keep": self.keep,
        }
        return {role: path for role, path in roles.items() if path is not None}


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
