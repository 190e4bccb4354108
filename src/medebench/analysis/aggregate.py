"""Averages of scores, each with its interval and with over how many of how many it was taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from medebench.analysis.interval import LEVEL, UNBOUNDED, Bounds
from medebench.analysis.macro import macro_mean
from medebench.analysis.means import Mean, mean
from medebench.analysis.score_frame import case_means, clean_scores
from medebench.reason_groups import group_reasons, reasons_in_words

Value = float | int | str | None

_STATISTICS: dict[str, type[pl.DataType]] = {
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "macro": pl.Float64,
    "macro_low": pl.Float64,
    "macro_high": pl.Float64,
    "why": pl.String,
    "macro_why": pl.String,
    "sd": pl.Float64,
    "n_cases": pl.Int64,
    "n_clusters": pl.Int64,
    "n_groups": pl.Int64,
}


def summarise(
    scores: pl.DataFrame,
    by: Sequence[str] = ("run", "metric"),
    *,
    bounds: Mapping[str, Bounds] | None = None,
    level: float = LEVEL,
) -> pl.DataFrame:
    """One row for each group of `by`, sorted by it; add "group" or more for finer tables.

    With x_i the mean over k of case i (of one run), of N cases, and G the groups with a scored
    case:

        mean  = 1/N sum_i x_i                      micro: every case counts the same
        macro = 1/|G| sum_{g in G} mean of the x_i of group g    every group counts the same

    `bounds` gives the ends of each metric's scale; one that is not named has none. A control that
    has the same score everywhere has it by construction, and its interval has no width.

    Columns besides `by`:

    - `mean`, `low`, `high`: micro mean and its interval (`analysis.mean` by source)
    - `macro`, `macro_low`, `macro_high`: the same for the macro mean (`macro_mean`); null when
      "group" is in `by`
    - `why`, `macro_why`: why there is no interval, "" where there is one
    - `sd`: standard deviation of the x_i (N - 1 in the denominator)
    - `n_cases`, `n_clusters`, `n_groups`: cases, sources and groups with a value
    - `total_groups`: groups with or without a value, to compare with `n_groups`
    - `scored`, `total`: outputs (case and k) with a value, and all of them
    - `reasons`: why the others have none, structs of reason and count, most frequent first

    A statistic that cannot be had is null. Scores of different metrics are never averaged.

    >>> row = {"run": "r", "editor": "e", "control": False, "k": 0, "metric": "cp"}
    >>> scores = pl.DataFrame([
    ...     row | {"group": "lung", "case": "1", "source": "a", "value": 0.25, "reason": None},
    ...     row | {"group": "lung", "case": "2", "source": "b", "value": 0.75, "reason": None},
    ...     row | {"group": "eye", "case": "3", "source": "c", "value": 1.0, "reason": None},
    ...     row | {"group": "eye", "case": "4", "source": "d", "value": None, "reason": "no ROI"},
    ... ])
    >>> summarise(scores).select("macro", "scored", "total").row(0)
    (0.75, 3, 4)
    >>> summarise(scores, ["metric", "group"])["mean"].to_list()
    [1.0, 0.5]
    """
    keys = list(dict.fromkeys(by))
    if not keys or {"value", "reason"} & {*keys}:
        raise ValueError(f"by: {keys or 'nothing given'}; name columns other than value and reason")
    rows = clean_scores(scores, keys)
    if "metric" not in keys and rows["metric"].n_unique() > 1:
        raise ValueError('by must hold "metric": scores of different metrics cannot be averaged')

    counted = rows.group_by(keys).agg(
        total_groups=pl.col("group").n_unique().cast(pl.Int64),
        scored=pl.col("value").count().cast(pl.Int64),
        total=pl.len().cast(pl.Int64),
    )
    why = (
        rows.filter(pl.col("value").is_null())
        .group_by(*keys, "reason")
        .agg(count=pl.len().cast(pl.Int64))
        .sort(["count", "reason"], descending=[True, False])
        .group_by(keys, maintain_order=True)
        .agg(reasons=pl.struct("reason", "count"))
    )
    # Ranks stand in for the names: same order, and numpy sorts numbers far faster than strings.
    cases = case_means(rows, keys).with_columns(
        pl.col("source", "group").rank("dense").fill_null(0).name.suffix("_rank")
    )
    controls = {run for run, control in rows.select("run", "control").iter_rows() if control}
    only = rows["metric"].item(0) if len(rows) else ""

    def ends(key: tuple[object, ...]) -> Bounds:
        metric = key[keys.index("metric")] if "metric" in keys else only
        return (bounds or {}).get(str(metric), UNBOUNDED)

    statistics = [
        key + _statistics(part, "group" not in keys, ends(key), controls, level)
        for key, part in cases.group_by(keys, maintain_order=True)
    ]
    schema = {key: rows.schema[key] for key in keys} | _STATISTICS
    return (
        counted.join(
            pl.DataFrame(statistics, schema=schema, orient="row"),
            on=keys,
            how="left",
            nulls_equal=True,
        )
        .join(why, on=keys, how="left", nulls_equal=True)
        .with_columns(
            pl.col("n_cases", "n_clusters", "n_groups").fill_null(0),
            pl.col("reasons").fill_null([]),
        )
        .sort(keys)
        .select(*keys, *_STATISTICS, "total_groups", "scored", "total", "reasons")
    )


def coverage_text(
    scored: int,
    total: int,
    reasons: Iterable[tuple[str, int] | Mapping[str, object]] = (),
) -> str:
    """Over how many of how many an average was taken, and why not over all.

    Takes reasons as pairs, or as the structs of `summarise`; those that say the same are counted
    together.

    >>> coverage_text(61, 63, [("ROI too large", 2)])
    'scored 61 of 63; 2 ROI too large'
    >>> coverage_text(58, 63, [("a.png: not an image", 3), ("b.png: not an image", 2)])
    'scored 58 of 63; 5 not an image'
    >>> coverage_text(63, 63)
    'scored 63 of 63'
    """
    text = f"scored {scored:,} of {total:,}"
    pairs = [
        (str(r["reason"]), int(str(r["count"]))) if isinstance(r, Mapping) else (r[0], r[1])
        for r in reasons
    ]
    if scored == total or not pairs:
        return text
    return f"{text}; {reasons_in_words(group_reasons(pairs))}"


def _statistics(
    part: pl.DataFrame, macro: bool, bounds: Bounds, controls: set[str], level: float
) -> tuple[Value, ...]:
    """The values of `_STATISTICS` for the case means of one group."""
    x = part["value"].to_numpy()
    source = part["source_rank"].to_numpy()
    exact = controls.issuperset(part["run"].unique().to_list())
    over_cases = mean(x, source, bounds, exact=exact)
    group, over_groups = part["group_rank"].to_numpy(), None
    if macro:
        over_groups = macro_mean(x, group, source, bounds, exact=exact)
    value, low, high, why = _shown(over_cases, level)
    macro_value, macro_low, macro_high, macro_why = _shown(over_groups, level)
    return (
        *(value, low, high),
        *(macro_value, macro_low, macro_high),
        *(why, macro_why),
        float(x.std(ddof=1)) if len(x) > 1 else None,
        len(x),
        len(np.unique(source)),
        len(np.unique(group)),
    )


def _shown(
    found: Mean | None, level: float
) -> tuple[float | None, float | None, float | None, str]:
    if found is None:
        return None, None, None, ""
    low, high = found.interval(level) or (None, None)
    return found.value, low, high, found.reason
