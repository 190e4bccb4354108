"""What a failure costs: an output that never arrived scores like doing nothing.

Averages over delivered outputs alone reward a system for failing on what is hard. Here every output
that was asked for counts, and nobody gains by delivering nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import polars as pl

Better = Literal["higher", "lower", "neither"]

#: Kinds of reasons (`medebench.reason.KINDS`) for which the system has to answer: nothing usable
#: came out. A number that is undefined, a judge that failed or a score that is out of date is not
#: its fault; an output that has not been made yet may still come.
FAILURES = ("no-output", "missing-file", "no-part")
#: A file that cannot be read is the system's if it is the output, not if it is the case's.
BROKEN = "unreadable output"
#: The control that does nothing.
NOTHING = "identity"
#: What stands in for a failure: the score of doing nothing, the bad end of the scale, or the worst
#: of any run.
AS_NOTHING, AS_END, AS_WORST = "nothing", "end", "worst"


def is_failure() -> pl.Expr:
    """Rows without a value for which the system has to answer; needs the columns of a run's table.

    >>> rows = pl.DataFrame({"value": [None, None, 0.5], "kind": ["no-output", "undefined", None],
    ...                      "reason": ["no output: declined", "no ROI", None]})
    >>> rows.select(is_failure()).to_series().to_list()
    [True, False, False]
    """
    broken = pl.col("reason").str.starts_with(BROKEN).fill_null(False)
    lost = pl.col("kind").is_in(FAILURES).fill_null(False)
    return (pl.col("value").is_null() & (lost | broken)).alias("failed")


def count_failures(
    scores: pl.DataFrame, better: Mapping[str, Better], ends: Mapping[str, float] | None = None
) -> pl.DataFrame:
    """The same rows, with a value for every failure that can have one, and `charged` saying which.

    A failed output of a case gets the score that doing nothing has on this case, the mean over k of
    the runs of the control `identity`. Where that is undefined or was not computed, it gets the
    bad end of the metric's scale where `ends` names one (no answer is as bad as a wrong one), else
    the worst score that any run has on the case. Where no run has one, or where the metric has no
    better end (`better`), it stays a reason.

    >>> row = {"control": False, "k": 0, "case": "1", "metric": "ssim"}
    >>> scores = pl.DataFrame([
    ...     row | {"run": "a", "editor": "a", "value": 0.9, "reason": None, "kind": None},
    ...     row | {"run": "b", "editor": "b", "value": None, "reason": "no output: declined",
    ...            "kind": "no-output"},
    ...     row | {"run": "c", "editor": "identity", "control": True, "value": 0.7,
    ...            "reason": None, "kind": None},
    ... ])
    >>> count_failures(scores, {"ssim": "higher"}).select("run", "value", "charged").rows()
    [('a', 0.9, None), ('b', 0.7, 'nothing'), ('c', 0.7, None)]
    """
    value, place = pl.col("value"), ["case", "metric"]
    known = scores.filter(value.is_finite())
    lower = [name for name, end in better.items() if end == "lower"]
    nothing = known.filter(pl.col("control") & (pl.col("editor") == NOTHING))
    costs = known.group_by(place).agg(
        worst=pl.when(pl.col("metric").first().is_in(lower))
        .then(value.max())
        .otherwise(value.min())
    )
    given = {} if ends is None else ends
    costs = costs.join(nothing.group_by(place).agg(nothing=value.mean()), on=place, how="left")
    directed = [name for name, end in better.items() if end != "neither"]
    # One score that says so is enough: others of the same output may not have been tried.
    lost = value.is_null() & is_failure().any().over("run", "case", "k")
    # What is not about such work has no cost.
    lost &= pl.col("kind").ne_missing("not-applicable")
    costly = pl.coalesce("nothing", "end", "worst").is_not_null()
    charged = lost & pl.col("metric").is_in(directed) & costly
    how = (
        pl.when(pl.col("nothing").is_not_null())
        .then(pl.lit(AS_NOTHING))
        .when(pl.col("end").is_not_null())
        .then(pl.lit(AS_END))
        .otherwise(pl.lit(AS_WORST))
    )
    end = pl.col("metric").replace_strict(given, default=None, return_dtype=pl.Float64)
    rows = (
        scores.join(costs, on=place, how="left", maintain_order="left")
        .with_columns(end=end)
        .with_columns(charged=pl.when(charged).then(how))
    )
    paid = pl.col("charged").is_not_null()
    return rows.with_columns(
        value=pl.when(paid).then(pl.coalesce("nothing", "end", "worst")).otherwise(value),
        reason=pl.when(~paid).then(pl.col("reason")),
        kind=pl.when(~paid).then(pl.col("kind")),
    ).drop("nothing", "end", "worst")
