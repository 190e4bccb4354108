"""Which parts of an output a case asks for: a judge is shown those, and asked about no others."""

from __future__ import annotations

from collections.abc import Collection

from medebench.cases.case import Case
from medebench.outputs import PARTS, Part
from medebench.tasks.medgen import MEDGEN
from medebench.tasks.medgen_tasks import Format, medgen_task

#: Under which role each part of an output, and of a reference, is shown.
OUTPUTS: dict[Part, str] = {"image": "output", "text": "output_text"}
REFERENCES: dict[Part, str] = {"image": "reference", "text": "reference_text"}
_FORMATS: dict[tuple[Part, ...], Format] = {
    ("image",): "editing",
    ("text",): "vqa",
    ("image", "text"): "generation",
}


def asked_parts(case: Case, given: Collection[Part]) -> tuple[Part, ...]:
    """What the case asks for, by its task in MedGEN-Bench, else by its reference and by what came.

    >>> asked_parts(Case("1", None, "Which?", task="blank-filling"), ("image", "text"))
    ('text',)
    """
    if medgen_task(case) is not None:
        return tuple(part for part in PARTS if part in MEDGEN.of(case).gives)
    wanted: dict[Part, bool] = {"image": case.reference is not None, "text": bool(case.answer)}
    return tuple(part for part in PARTS if wanted[part] or part in given)


def case_format(case: Case, parts: tuple[Part, ...]) -> Format:
    """A question, an edit, or an image with text."""
    known = medgen_task(case)
    return _FORMATS[parts] if known is None else known.format
