"""Figures of a study: everything is on them, inside their frame, whatever the names are."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from medebench.page.palette import run_colours
from medebench.study.results.figures import metric_worth, people_agreement, standings
from medebench.study.results.figures.draw_study import colours_of, draw_results
from medebench.study.results.results_model import StudyResults
from medebench.study.results.thresholds_in_words import race
from tests.study.made_up import METRICS, NOTHING, about, hostile, made_up, made_worths

MANY = (*METRICS, *(f"my_metric_{i}" for i in range(19)))


@pytest.mark.parametrize(
    "results",
    [
        made_up(),
        made_up(metrics=MANY),
        made_up(metrics=("ssim",), models=("a", "b"), controls=(), dimensions=("realism",)),
        made_up(dimensions=("ea", "cp", "vq", "beauty", "truth")),
        hostile(),
    ],
    ids=["usual", "many", "one", "five", "hostile"],
)
def test_all_text_lies_inside_the_figure_and_on_nothing_else(results: StudyResults) -> None:
    colours = colours_of(results)
    for context in (
        standings.draw(results, colours),
        metric_worth.draw(results),
        people_agreement.draw(results),
    ):
        assert context is not None
        with context as made:
            made.canvas.draw()
            frame = made.bbox
            titles = []
            for axes in made.axes:
                for text in [
                    *axes.texts,
                    *axes.get_yticklabels(),
                    axes.xaxis.label,
                    axes._left_title,  # type: ignore[attr-defined]
                ]:
                    if not text.get_text().strip():
                        continue
                    box = text.get_window_extent()
                    assert box.x0 >= frame.x0 - 1 and box.x1 <= frame.x1 + 1, text.get_text()
                    assert box.y0 >= frame.y0 - 1 and box.y1 <= frame.y1 + 1, text.get_text()
                titles.append(axes._left_title.get_window_extent())  # type: ignore[attr-defined]
            for one, other in pairwise(titles):
                assert not one.overlaps(other) or one.width == 0 or other.width == 0


def test_every_metric_has_its_dot_at_its_value() -> None:
    results = made_up()
    context = metric_worth.draw(results)
    assert context is not None
    with context as made:
        for axes, dimension in zip(made.axes, results.dimensions, strict=True):
            assert dimension.worths is not None
            dots = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
            known = [m.rho.value for m in dimension.worths.metrics if m.rho.value is not None]
            assert sorted(dots) == pytest.approx(sorted(known))
            dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
            assert [line.get_xdata()[0] for line in dashed] == [dimension.worths.ceiling.value]
            found = race(dimension.worths)
            assert found is not None
            strong = [
                line
                for line in axes.lines
                if line.get_marker() == "o" and line.get_color() == "#1c2126"
            ]
            assert len(strong) == 1 + len(found.level)


def test_caption_names_the_dashed_line_and_what_intervals_are_over() -> None:
    results = made_up()
    assert "one person against the mean of the others" in metric_worth.caption(results)
    assert "intervals over source images" in metric_worth.caption(results)
    assert "intervals over cases" in metric_worth.caption(replace(results, sources_known=False))


def test_published_values_are_hollow_and_only_where_there_are_any() -> None:
    results = made_up(dimensions=("ea",), metrics=("ssim", "intended_offline", "my_metric"))
    context = metric_worth.draw(results)
    assert context is not None
    with context as made:
        [axes] = made.axes
        diamonds = [line for line in axes.lines if line.get_marker() == "D"]
        assert [line.get_xdata()[0] for line in diamonds] == [0.2]  # SSIM, EA, Table 3
        assert diamonds[0].get_markerfacecolor() == "none"
    assert "another study" in metric_worth.caption(results)
    own = made_up(dimensions=("ea",), metrics=("my_metric",))
    assert "another study" not in metric_worth.caption(own)


def test_standings_are_the_chances_in_the_colours_of_the_report() -> None:
    results = made_up(dimensions=("ea",))
    colours = colours_of(results)
    context = standings.draw(results, colours)
    assert context is not None
    with context as made:
        [axes] = made.axes
        dots = [line for line in axes.lines if line.get_marker() == "o"]
        names = [text.get_text() for text in axes.get_yticklabels()]
        for dot in dots:
            name = names[round(dot.get_ydata()[0])]
            one = next(s for s in results.dimensions[0].ordering.standings if s.model == name)
            assert one.preferred.value is not None
            assert dot.get_xdata()[0] == pytest.approx(100 * one.preferred.value)
            hollow = dot.get_markerfacecolor() != dot.get_markeredgecolor()
            assert hollow == (name in results.controls)
    report = ["zeta", "gemini", "identity"]
    assert colours_of(results, report)["gemini"] == run_colours(9, 1)[1]


def test_what_is_not_known_is_not_drawn() -> None:
    names = [one.name for one in draw_results(made_up(with_runs=False, people=("ann",)))]
    assert names == ["people-standings"]
    nothing = replace(made_up().dimensions[0], worths=made_worths({"ssim": None}, ceiling=NOTHING))
    assert metric_worth.draw(replace(made_up(), dimensions=(nothing,))) is None


def test_figures_are_the_same_bytes_and_sound_xml() -> None:
    first, second = draw_results(hostile()), draw_results(hostile())
    assert [(d.svg, d.pdf) for d in first] == [(d.svg, d.pdf) for d in second]
    for drawing in first:
        ElementTree.fromstring(drawing.svg)
        assert "<script" not in drawing.svg and "<script" not in drawing.inline
        assert drawing.pdf.startswith(b"%PDF")
        ids = re.findall(r'\bid="([^"]+)"', drawing.inline)
        assert all(one.startswith(drawing.name) for one in ids)


def test_axis_reaches_below_zero_only_if_something_is_there() -> None:
    for low, beyond in ((0.3, False), (-0.5, True)):
        results = made_up(dimensions=("ea",))
        worths = made_worths({"ssim": 0.6, "psnr": low}, ceiling=about(0.8))
        one = replace(results.dimensions[0], worths=worths)
        context = metric_worth.draw(replace(results, dimensions=(one,)))
        assert context is not None
        with context as made:
            assert bool(made.axes[0].get_xlim()[0] < -0.1) is beyond
