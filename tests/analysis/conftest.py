"""Builders of score frames and of ranks for the tests of the analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl
import pytest

from medebench.analysis.clusters import Floats
from medebench.analysis.ranked import Ranked

Frame = Callable[[Iterable[dict[str, Any]]], pl.DataFrame]

SCHEMA = {
    "run": pl.String,
    "editor": pl.String,
    "control": pl.Boolean,
    "group": pl.String,
    "task": pl.String,
    "case": pl.String,
    "k": pl.Int64,
    "source": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "reason": pl.String,
}


@pytest.fixture(scope="session")
def frame() -> Frame:
    """Rows that name only what matters; a case is its own source unless said otherwise."""

    def build(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
        usual = {"run": "r", "control": False, "group": "lung", "task": "t", "k": 0, "metric": "cp"}
        full = []
        for row in rows:
            row = usual | {"value": None, "reason": None} | row
            full.append({"editor": row["run"], "source": row["case"]} | row)
        return pl.DataFrame(full, schema=SCHEMA)

    return build


def study(ranks: Floats, sources: Sequence[str] | None = None) -> Ranked:
    people, cases, models = ranks.shape
    return Ranked(
        tuple(f"p{a}" for a in range(people)),
        tuple(f"c{c:04}" for c in range(cases)),
        tuple(f"m{m}" for m in range(models)),
        tuple(sources) if sources else tuple(f"s{c:04}" for c in range(cases)),
        ranks,
    )
