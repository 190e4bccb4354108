"""The frame of scores: what it must hold, and how its rows become one value per case."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from medebench.cases.source_clusters import SEPARATOR, joined_sources

COLUMNS = (
    "run",
    "editor",
    "control",
    "group",
    "case",
    "k",
    "source",
    "metric",
    "value",
    "reason",
)
NOT_FINITE = "not a finite number"
NO_REASON = "no reason given"


def clean_scores(scores: pl.DataFrame, more: Sequence[str] = ()) -> pl.DataFrame:
    """Check a frame of scores, and leave in it only numbers that can be averaged.

    "group" is the leading group of a case (its organ, its modality, ...); `more` names further
    columns to keep.

    NaN and infinity become null with the reason "not a finite number"; a null without a reason
    gets "no reason given"; a reason beside a value is dropped. A case without a source is its own
    source: nothing says that it shares its picture with another.

    Raises ValueError when a column is missing, when a run has two rows for the same case, k and
    metric (no average could say which of the two counts), or when it has a case with two sources
    or groups.

    >>> row = {"run": "r", "editor": "e", "control": False, "group": "lung",
    ...        "case": "1", "k": 0, "source": "s", "metric": "cp", "reason": None}
    >>> clean_scores(pl.DataFrame([row | {"value": float("nan")}]))["reason"].to_list()
    ['not a finite number']
    """
    names = list(dict.fromkeys([*COLUMNS, *more]))
    missing = [name for name in names if name not in scores.columns]
    if missing:
        raise ValueError(f"scores: column {', '.join(missing)} is missing; need {names}")
    value = pl.col("value")
    rows = (
        scores.select(names)
        .with_columns(
            value.cast(pl.Float64),
            pl.col("reason", "case", "source").cast(pl.String),
        )
        .with_columns(
            # The unit separator keeps a made-up source apart from every hash.
            pl.col("source").fill_null(pl.lit("\x1fcase ") + pl.col("case")),
            pl.when(value.is_finite()).then(value).alias("value"),
            pl.when(value.is_null())
            .then(pl.col("reason").fill_null(NO_REASON))
            .when(~value.is_finite())
            .then(pl.lit(NOT_FINITE))
            .alias("reason"),
        )
    )
    key = ["run", "case", "k", "metric"]
    doubles = rows.filter(pl.struct(key).is_duplicated()).select(key).sort(key)
    if len(doubles):
        raise ValueError(f"scores: more than one row for {doubles.row(0, named=True)}")
    # A case with two sources would enter an average twice and pair with nothing.
    facts = rows.select("run", "case", "source", "group").unique()
    twofold = facts.filter(pl.struct("run", "case").is_duplicated()).sort("run", "case")
    if len(twofold):
        name = twofold.select("run", "case").row(0, named=True)
        raise ValueError(f"scores: more than one source or group for {name}")
    return rows


def with_common_sources(scores: pl.DataFrame) -> pl.DataFrame:
    """The same, where runs of parts of a set know the sources of a case by different names.

    A run names a cluster of cases after one image of those that it has; another run over fewer of
    them cannot know that image. A case of one name must be the same case in all runs.

    >>> frame = pl.DataFrame({"case": ["1", "2", "2"], "source": ["a", "a", "b"]})
    >>> with_common_sources(frame)["source"].to_list()
    ['a', 'a', 'a']
    """
    pairs = scores.select("case", "source").drop_nulls().unique().sort("case", "source")
    if pairs["case"].is_unique().all():
        return scores
    every = pairs.group_by("case", maintain_order=True).agg(pl.col("source").str.join(SEPARATOR))
    joined = joined_sources(dict(every.rows()))
    found = pl.col("case").replace_strict(joined, default=None, return_dtype=pl.String)
    return scores.with_columns(source=pl.coalesce(found, "source"))


def case_means(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Average the outputs k of each case of each run; cases without any value are left out.

    Takes clean rows. The frame is sorted, so that sums over it do not depend on the order in
    which the rows came, down to the last bit.
    """
    keys = list(dict.fromkeys([*by, "run", "case", "source", "group"]))
    return (
        rows.filter(pl.col("value").is_not_null())
        .sort([*keys, "k"])
        .group_by(keys, maintain_order=True)
        .agg(pl.col("value").mean())
    )
