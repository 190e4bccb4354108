"""What the RadEdit paper reports for its three shifts: context, never a yardstick."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from medebench.cases.phantoms.chest.shifts import Shift

SOURCE = "RadEdit"


@dataclass(frozen=True)
class PublishedRow:
    """A predictor of the paper, printed as the column is; with a deviation where it gives one."""

    predictor: str
    original: str
    edited: str
    kind: str = ""


@dataclass(frozen=True)
class Published:
    title: str
    caption: str
    rows: tuple[PublishedRow, ...]


def published(shift: Shift | None) -> Published | None:
    """The paper's figures for one of its shifts; None where there are none."""
    found = _data()["shifts"].get(shift) if shift else None
    if found is None:
        return None
    measure = found["measure"]
    rows = tuple(
        PublishedRow(
            row["predictor"],
            _text(row["original"], measure),
            _text(row["edited"], measure),
            row["kind"],
        )
        for row in found["rows"]
    )
    caption = (
        f"published, {SOURCE}, {found['title']}, {found['measure']}; real pictures and "
        "other predictors: context, not comparable"
    )
    return Published(found["title"], caption, rows)


def _text(percent: list[float], measure: str) -> str:
    """ "99.1 ± 0.2", or the mean alone where the paper gives no deviation; Dice as ours, 0 to 1."""
    if measure == "Dice":
        return " ± ".join(f"{number / 100:.3f}" for number in percent)
    return " ± ".join(f"{number:.1f}" for number in percent)


@cache
def _data() -> dict[str, Any]:
    path = files("medebench.stress.page") / "published" / "radedit.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
