"""Failures cost: by the score of doing nothing, else by the worst there is."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.analysis.failure_cost import AS_NOTHING, AS_WORST, count_failures, is_failure

BETTER = {"ssim": "higher", "lpips": "lower", "share": "neither"}


def row(run, case, metric, value=None, kind=None, reason=None, *, editor=None, k=0):
    control = editor == "identity"
    words = reason or (f"because of {kind}" if kind else None)
    place = {"run": run, "editor": editor or run, "control": control, "case": case, "k": k}
    return place | {"metric": metric, "value": value, "reason": words, "kind": kind}


def frame(*rows):
    return pl.DataFrame(list(rows), infer_schema_length=None).with_columns(
        pl.col("value").cast(pl.Float64), pl.col("kind", "reason").cast(pl.String)
    )


def paid(found, run="b"):
    return found.filter(pl.col("run") == run).select("value", "charged").rows()


def test_doing_nothing_is_what_a_failure_gets():
    found = count_failures(
        frame(
            row("a", "1", "ssim", 0.2),
            row("b", "1", "ssim", kind="no-output"),
            row("nothing", "1", "ssim", 0.6, editor="identity"),
            row("nothing", "1", "ssim", 0.8, editor="identity", k=1),
        ),
        BETTER,
    )
    assert paid(found) == [(pytest.approx(0.7), AS_NOTHING)]
    assert found["reason"].null_count() == 4


@pytest.mark.parametrize(("metric", "worst"), [("ssim", 0.2), ("lpips", 0.9)])
def test_without_it_the_worst_score_of_any_run(metric, worst):
    found = count_failures(
        frame(
            row("a", "1", metric, 0.2),
            row("c", "1", metric, 0.9),
            row("b", "1", metric, kind="missing-file"),
            row("c", "2", metric, 0.0),
        ),
        BETTER,
    )
    assert paid(found) == [(worst, AS_WORST)]


@pytest.mark.parametrize(
    ("kind", "reason", "counts"),
    [
        ("no-output", None, True),
        ("no-part", None, True),
        ("missing-file", None, True),
        ("unreadable", "unreadable output: cut off", True),
        ("unreadable", "previous/1.png: cut off", False),
        ("undefined", None, False),
        ("unanswered", None, False),
        ("stale", None, False),
        ("not-made", None, False),
        ("refused", "the judge refused", False),
    ],
)
def test_only_what_the_system_has_to_answer_for(kind, reason, counts):
    rows = frame(row("a", "1", "ssim", 0.2), row("b", "1", "ssim", kind=kind, reason=reason))
    assert rows.select(is_failure())["failed"].to_list() == [False, counts]
    [(value, how)] = paid(count_failures(rows, BETTER))
    assert (value, how) == ((0.2, AS_WORST) if counts else (None, None))


def test_no_cost_where_there_is_no_better_end_or_no_score_at_all():
    rows = frame(
        row("a", "1", "share", 0.2),
        row("b", "1", "share", kind="no-output"),
        row("b", "2", "ssim", kind="no-output"),
    )
    assert count_failures(rows, BETTER).drop("charged").equals(rows)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "identity"]),
            st.sampled_from(["1", "2", "3"]),
            st.one_of(st.floats(0, 1), st.none()),
        ),
        min_size=1,
        max_size=12,
        unique_by=lambda one: one[:2],
    )
)
def test_a_failure_never_helps(drawn):
    """No run gains by not delivering: what a failure gets is at most the best, by any measure."""
    rows = frame(
        *(
            row(
                run,
                case,
                "ssim",
                value,
                kind=None if value is not None else "no-output",
                editor="identity" if run == "identity" else None,
            )
            for run, case, value in drawn
        )
    )
    found = count_failures(rows, BETTER)
    known = {case: [v for _, c, v in drawn if c == case and v is not None] for _, case, _ in drawn}
    nothing = {c: v for run, c, v in drawn if run == "identity" and v is not None}
    for one in found.iter_rows(named=True):
        case = one["case"]
        if one["charged"] is None:
            assert one["value"] is not None or not known[case]
        else:
            assert one["value"] == nothing.get(case, min(known[case]))
            assert one["reason"] is None
    assert found.select("run", "case").equals(rows.select("run", "case"))
