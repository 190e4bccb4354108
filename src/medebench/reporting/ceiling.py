"""The ceiling: what the references themselves get on these cases, to stand beside every table.

Real references are often another photograph than the input. They then miss the top of a scale, and
no editor should be expected to reach it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from medebench.grounding import FAILURE_TYPES
from medebench.reporting.collect import Entry

if TYPE_CHECKING:
    from medebench.reporting.diagnosis import Diagnosis
    from medebench.reporting.headline_table import HeadlineTable

_EDITOR = "reference"
MISSING = (
    "Ceiling: unknown, because the control “reference” is not among the runs. Make it with "
    "`medebench edit CASES --editor reference --out runs/reference`, score and ground it like the "
    "others, and report again."
)


def is_ceiling(entry: Entry | None) -> bool:
    return entry is not None and entry.control and entry.run.info.editor == _EDITOR


def _known(entries: Iterable[Entry | None]) -> Entry | None:
    return next((entry for entry in entries if is_ceiling(entry)), None)


def score_ceiling(table: HeadlineTable) -> str:
    """What the references get in the columns of a table; nothing where a task has no such run."""
    entry = _known(row.entry for row in table.rows)
    if entry is None:
        return MISSING if table.editing else ""
    [row] = [row for row in table.rows if row.entry is entry]
    parts = []
    for score in table.columns:
        cell = row.cells.get((table.basis, score.name))
        if cell is not None and cell.micro.value is not None:
            parts.append(f"{score.label} {row.text(score, cell.micro.value)}")
    if not parts:
        return f"Ceiling: {entry.name} has no score in this table."
    return f"Ceiling, what the references themselves get ({entry.name}): {', '.join(parts)}."


def type_ceiling(diagnosis: Diagnosis) -> str:
    """Which types the references get, and where they changed."""
    found = [one for one in diagnosis.found if is_ceiling(one.entry)]
    if not found:
        return MISSING
    kinds = [one.type for one in found]
    counts = [(kinds.count(kind), label) for kind, label in FAILURE_TYPES.items()]
    parts = [f"{label} {count:,}" for count, label in counts if count]
    if without := kinds.count(None):
        parts.append(f"no finding {without:,}")
    ious = [one.evidence.change_iou for one in found if one.evidence.change_iou is not None]
    place = ""
    if ious:
        place = f"; their change has a mean IoU of {sum(ious) / len(ious):.3f} with the ROI"
    return (
        f"Ceiling, what the references themselves get ({found[0].entry.name}, {len(found):,} "
        f"outputs): {', '.join(parts)}{place}. A reference that is another "
        "photograph differs around the ROI too, and counts as repainted."
    )
