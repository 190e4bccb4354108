"""The 16 tasks of MedGEN-Bench: what must come out, how it is read, and what may be scored.

`determined` says whether input and instruction leave only one right image. Where they do not (the
colour map of a style, the corner of a label, a reference that an image model has made), likeness to
the reference is a description and ranks nobody.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from medebench.cases.case import Case

Format = Literal["vqa", "editing", "generation"]
#: How an answer is read: as one of the choices, as what fills a gap, freely, or as a report.
AnswerKind = Literal["letter", "gap", "free", "report"]

#: As the releases spell them: folder and `paper_format`, `category`, and ours.
FORMATS: dict[str, Format] = {
    "vqa": "vqa",
    "imageediting": "editing",
    "imageedit": "editing",
    "editing": "editing",
    "edit": "editing",
    "multimodalgeneration": "generation",
    "mmgeneration": "generation",
    "generation": "generation",
    "gen": "generation",
}

IMAGE = ("ssim", "psnr")
LETTER: tuple[str, ...] = ()
GAP: tuple[str, ...] = ()
FREE: tuple[str, ...] = ()
REPORT: tuple[str, ...] = ()


@dataclass(frozen=True)
class MedgenTask:
    """One of the 16 tasks."""

    name: str
    format: Format
    answer: AnswerKind | None
    #: What `score` computes by default.
    metrics: tuple[str, ...]
    #: Whether input and instruction leave only one right image.
    determined: bool = True
    #: Not part of the revised benchmark any more.
    withdrawn: bool = False
    #: Further names of it in releases; hyphens and underscores are the same.
    aliases: tuple[str, ...] = ()


def _editing(name: str, determined: bool, *aliases: str) -> MedgenTask:
    return MedgenTask(name, "editing", None, IMAGE, determined, aliases=aliases)


def _generation(name: str, *aliases: str, withdrawn: bool = False) -> MedgenTask:
    return MedgenTask(name, "generation", "free", IMAGE + FREE, False, withdrawn, aliases)


_EVERY = (
    MedgenTask("multiple-choice", "vqa", "letter", LETTER, aliases=("multi-choice",)),
    MedgenTask("blank-filling", "vqa", "gap", GAP),
    MedgenTask("question-answering", "vqa", "free", FREE, aliases=("question-answer",)),
    MedgenTask("report-generation", "vqa", "report", REPORT),
    _editing("anatomical-annotation", False),
    _editing("artifact-removal", True),
    _editing("contrast-enhancement", False),
    _editing("noise-reconstruction", True),
    _editing("resolution-editing", True, "resolution-edit"),
    _editing("style-transfer", False, "dye-transfer"),
    _generation("2d-to-3d-reconstruction", "2d-3d-reconstruction"),
    _generation("3d-to-2d-projection", "3d-2d-projection"),
    _generation("instruction-editing", "instruction-edit"),
    _generation("organic-reconstruction", "organ-reconstruction"),
    _generation("organic-removal", "organ-removal"),
    _generation("disease-prediction", withdrawn=True),
)
MEDGEN_TASKS: dict[str, MedgenTask] = {one.name: one for one in _EVERY}
_NAMES = {name: one for one in _EVERY for name in (one.name, *one.aliases)}


def find_medgen_task(name: str) -> MedgenTask | None:
    """The task of this name in any spelling, or None.

    >>> find_medgen_task("Dye_Transfer").name
    'style-transfer'
    """
    return _NAMES.get(re.sub(r"[\s_]+", "-", name.strip().lower()))


def medgen_task(case: Case) -> MedgenTask | None:
    """The task of a case of MedGEN-Bench, or None for one of other sets."""
    return MEDGEN_TASKS.get(case.task)


def answer_kind(case: Case) -> AnswerKind:
    """How the answer to a case is read.

    >>> answer_kind(Case("1", None, "The lesion lies in the ____ lobe."))
    'gap'
    >>> answer_kind(Case("1", None, "Which organ?", choices=("liver", "spleen")))
    'letter'
    """
    known = medgen_task(case)
    if known is not None and known.answer is not None:
        return known.answer
    if case.choices:
        return "letter"
    return "gap" if re.search(r"_{2,}", case.prompt) else "free"
