"""The answer in words says what the numbers say, and no more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medebench.analysis.agreement import agreement
from medebench.analysis.estimate import Estimate
from medebench.analysis.interval import Interval
from medebench.analysis.ordering import Ordering, order_models
from medebench.analysis.published_tables import published_table, published_worth
from medebench.analysis.ranked import Ranked, midranks
from medebench.analysis.worth import MetricWorth, Worths, metric_worths
from medebench.page.number import number, p_value, percent
from medebench.page.score_columns import describe
from medebench.study.results.answer_text import answers, attention, overview, parts
from medebench.study.results.published_rows import between_people, printed
from medebench.study.results.results_model import DimensionResults, StudyResults
from medebench.study.results.thresholds_in_words import FEW_SOURCES, grade, race
from tests.study.made_up import (
    NOTHING,
    about,
    hostile,
    made_agreement,
    made_ordering,
    made_up,
    made_worths,
)

MODELS = ("first", "second", "third", "identity")
CHANCES = (0.8, 0.6, 0.4, 0.2)


def say(about_what: str, results: StudyResults, **changes: object) -> str:
    dimension = replace(results.dimensions[0], **changes)  # type: ignore[arg-type]
    return " ".join(parts(dimension, results)[about_what])


def usual(**changes: object) -> StudyResults:
    return made_up(models=MODELS, dimensions=("ea",), **changes)  # type: ignore[arg-type]


def test_a_sure_lead_is_called_sure() -> None:
    text = say("Models", usual(), ordering=made_ordering(MODELS, CHANCES))
    assert "Annotators ranked first highest" in text
    assert "80 % of pairs (75 to 85 %)" in text
    assert "The lead is significant" in text and "ahead of second by 0.80 in log strength" in text


def test_a_lead_that_is_not_significant_is_not_sure_and_says_against_whom() -> None:
    text = say("Models", usual(), ordering=made_ordering(MODELS, CHANCES, sure=False))
    assert "The lead is not significant: it cannot be told apart from second and third" in text
    assert "identity" not in text  # a control is nothing to be ahead of


def test_significance_without_an_interval_above_zero_is_not_enough() -> None:
    order = made_ordering(MODELS, CHANCES)
    differences = {
        pair: (replace(gap, interval=Interval(-0.1, 2.0)), 0.01)
        for pair, (gap, _) in order.differences.items()
    }
    text = say("Models", usual(), ordering=replace(order, differences=differences))
    assert "not significant" in text


def test_a_lead_nobody_ever_contradicted_is_sure_without_a_made_up_number() -> None:
    order = made_ordering(MODELS, CHANCES)
    differences = {
        pair: (replace(gap, interval=None), 0.01) for pair, (gap, _) in order.differences.items()
    }
    text = say("Models", usual(), ordering=replace(order, differences=differences))
    assert "The lead is significant: it is ahead of second (p 0.010)" in text
    assert "log strength" not in text


def test_a_control_above_all_models_does_not_win_but_is_told() -> None:
    order = made_ordering(MODELS, (0.6, 0.5, 0.4, 0.9))
    text = say("Models", usual(), ordering=order)
    assert "Annotators ranked first highest" in text
    assert "The control identity ranks above every model." in text


def test_only_controls_and_no_order() -> None:
    only = made_up(models=("identity", "blur"), controls=("identity", "blur"), dimensions=("ea",))
    assert "no model leads" in say("Models", only)
    nothing = Ordering((), None, {}, "never compared with each other: a | b")
    text = say("Models", usual(), ordering=nothing)
    assert "cannot be ordered (never compared with each other: a | b)" in text


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.85, "agree closely"), (0.7, "fairly well"), (0.5, "loosely"), (0.2, "hardly agree")],
)
def test_agreement_is_graded(value: float, words: str) -> None:
    people = ("ann", "bob")
    text = say("Agreement", usual(), agreement=made_agreement(people, value))
    assert words in text and number(value) in text
    assert ("That is too little" in text) == (value < 0.4)


def test_where_people_disagree_no_metric_is_recommended() -> None:
    low = usual(agree=0.3)
    text = say("Metrics", low, worths=made_worths({"ssim": 0.9, "psnr": 0.2}))
    assert "Highest of the metrics is `ssim`" in text
    assert "stands in" not in text and "follows" not in text


def test_people_who_have_not_ranked_yet_do_not_count() -> None:
    two = usual(people=("ann", "bob", "cleo"))
    ann, bob, cleo = two.annotators
    results = replace(two, annotators=(ann, bob, replace(cleo, ranked=0)))
    text = overview(results)
    assert text.startswith("2 people ranked") and text.endswith(" cleo has not ranked yet.")
    one = replace(two, annotators=(ann, replace(bob, ranked=0), replace(cleo, ranked=0)), shared=0)
    assert overview(one).startswith("1 person ranked")
    assert overview(one).endswith("(48 source images). bob and cleo have not ranked yet.")
    text = " ".join(answers(one.dimensions[0], one))
    assert "Only one person ranked" in text and "The only annotator ranked" in text


def test_unknown_sources_are_not_counted() -> None:
    results = replace(usual(sources=9), sources_known=False)
    assert "source images)" not in overview(results)
    assert "they are treated as independent" in overview(results)
    assert "cannot be said from 9 cases" in say("Metrics", results)


def test_too_few_pictures_for_any_order_to_be_sure() -> None:
    """Ten models, ten pictures, full agreement: no p after Holm could be below 0.05."""
    names = tuple(f"c{i}" for i in range(10))
    models = tuple("abcdefghij")
    ranks = np.tile(np.arange(1.0, 11), (2, 10, 1))
    ranked = Ranked(("ann", "bob"), names, models, names, ranks)
    made = made_up(models=models, controls=(), dimensions=("ea",), sources=10)
    text = say("Models", made, ordering=order_models(ranked, resamples=50))
    assert "10 source images are too few to tell 10 models apart" in text
    assert "cannot be told apart from" not in text
    more = tuple(f"c{i}" for i in range(14))
    ranked = Ranked(("ann", "bob"), more, models, more, np.tile(np.arange(1.0, 11), (2, 14, 1)))
    text = say("Models", replace(made, sources=14), ordering=order_models(ranked, resamples=50))
    assert "The lead is significant" in text


def test_too_few_pictures_for_this_many_metrics() -> None:
    rhos: dict[str, float | None] = {f"m{i:02}": 0.8 - 0.001 * i for i in range(30)}
    text = say("Metrics", usual(), worths=made_worths(rhos, sources=10))
    assert "10 source images are too few to tell 30 metrics apart by this test" in text
    assert "cannot be told apart" not in text
    text = say("Metrics", usual(), worths=made_worths(rhos, sources=20))
    assert "cannot be told apart from 29 others" in text


def test_the_published_agreement_is_told_only_beside_a_study_like_it() -> None:
    seven = tuple(f"m{i}" for i in range(len(published_table().models)))
    like = made_up(models=seven, controls=())
    assert between_people(like, "ea") == published_worth().between_people
    assert "another study" in " ".join(answers(like.dimensions[0], like))
    other = made_up(models=seven, controls=(), dimensions=("beauty",))
    few = made_up(models=seven[:3], controls=())
    for one in (other, few):
        assert "0.91" not in " ".join(answers(one.dimensions[0], one))


def test_one_annotator() -> None:
    alone = usual(people=("ann",))
    text = " ".join(answers(alone.dimensions[0], alone))
    assert "Only one person ranked" in text
    assert "The only annotator ranked first highest" in text
    assert "stands in" not in text


def test_stands_in_for_people() -> None:
    worths = made_worths({"ssim": 0.79, "lpips_alex": 0.6}, ceiling=about(0.84))
    text = say("Metrics", usual(), worths=worths)
    assert (
        "`ssim` stands in for people: rho 0.79 (0.72 to 0.86, 52 cases; at least 0.70 after "
        "correction for 2 metrics)" in text
    )
    assert "first in 96 % of resamples" in text
    assert "clearly ahead of the next (`lpips_alex`, 0.19 behind, p 0.003)" in text
    assert "it is 0.05 (0.01 to 0.09) below another person, who reaches 0.84" in text
    assert "it ranks models nearly as well as another person would" in text


def test_as_well_as_a_person_only_if_that_is_sure() -> None:
    worths = made_worths({"ssim": 0.9}, ceiling=about(0.84))
    text = say("Metrics", usual(), worths=worths)
    assert "it is 0.06 (0.02 to 0.10) above another person" in text
    assert "it ranks models as well as another person would" in text
    level = replace(worths.metrics[0], gap=about(0.01, 0.04))
    text = say("Metrics", usual(), worths=replace(worths, metrics=(level,)))
    assert "stands in" in text and "nearly as well as another person" in text
    unsure = replace(worths.metrics[0], gap=about(0.01, 0.14))
    text = say("Metrics", usual(), worths=replace(worths, metrics=(unsure,)))
    assert "stands in" not in text and "not enough to say that it replaces people" in text


def test_the_best_of_many_is_graded_by_what_is_left_after_correction() -> None:
    worths = made_worths({"ssim": 0.6, "psnr": 0.58})
    first = replace(worths.metrics[0], corrected=Interval(-0.02, 0.8))
    text = say("Metrics", usual(), worths=replace(worths, metrics=(first, worths.metrics[1])))
    assert "No metric can be said to follow people here" in text
    assert "reaches 0 or below after correction for 2 metrics" in text
    down = made_worths({"ssim": 0.6, "psnr": -0.08})
    assert "against people" not in say("Metrics", usual(), worths=down)
    below = replace(down.metrics[1], corrected=Interval(-0.2, -0.01))
    text = say("Metrics", usual(), worths=replace(down, metrics=(down.metrics[0], below)))
    assert "`psnr` ranks the models against people (the interval is below 0, after corr" in text


def test_ahead_side_by_side_is_never_behind() -> None:
    """The leader has half of the cases, and the other is better on those."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(40, 7))
    seen = quality + 0.2 * rng.normal(size=(2, 40, 7))
    names, models = tuple(f"c{i:02}" for i in range(40)), tuple("ABCDEFG")
    ranked = Ranked(("ann", "bob"), names, models, names, midranks(-seen))
    half = quality + 0.35 * rng.normal(size=quality.shape)
    half[20:] = np.nan
    other = quality + 0.05 * rng.normal(size=quality.shape)
    other[20:] = quality[20:] + 1.2 * rng.normal(size=(20, 7))
    worths = metric_worths(ranked, {"half": half, "other": other}, resamples=200)
    found = race(worths)
    assert found is not None and found.first.metric == "half" and found.first.sources == 20
    [level] = found.level
    assert level.behind is not None and level.behind.value is not None and level.behind.value < 0
    assert level.p is None and "not behind" in level.behind.reason
    made = made_up(models=models, controls=(), dimensions=("ea",), sources=40)
    text = say("Metrics", made, worths=worths)
    assert "clearly ahead" not in text
    assert "On the cases that both have, `other` did better." in text
    lying = replace(worths, metrics=(found.first, replace(level, p=0.001)))
    assert race(lying) == replace(found, level=(lying.metrics[1],))


def test_few_pictures_behind_the_metric_itself() -> None:
    """Twelve pictures are ranked, but the metric has numbers for six of them."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(12, 5))
    seen = np.stack([quality, quality + 0.1 * rng.normal(size=quality.shape)])
    names, models = tuple(f"c{i:02}" for i in range(12)), tuple("ABCDE")
    ranked = Ranked(("ann", "bob"), names, models, names, midranks(-seen))
    half = quality.copy()
    half[6:] = np.nan
    metrics = {"half": half, "random": rng.normal(size=quality.shape)}
    worths = metric_worths(ranked, metrics, resamples=200)
    assert [one.sources for one in worths.metrics] == [6, 12]
    assert grade(worths.metrics[0]) == "unknown"
    made = made_up(models=models, controls=(), dimensions=("ea",), sources=12)
    text = say("Metrics", made, worths=worths)
    assert "cannot be said from 6 source images" in text


def test_follows_but_does_not_replace_people() -> None:
    text = say("Metrics", usual(), worths=made_worths({"ssim": 0.6}, ceiling=about(0.9)))
    assert "`ssim` follows people" in text and "it does not replace people" in text
    assert "only metric" in text


def test_several_that_cannot_be_told_apart_are_named() -> None:
    text = say("Metrics", usual(), worths=made_worths({"ssim": 0.7, "psnr": 0.68, "cp": 0.66}))
    assert "cannot be told apart from 2 others: `psnr` and `cp`" in text
    assert "clearly" not in text


def test_no_metric_follows_people() -> None:
    worths = made_worths({"ssim": 0.05, "psnr": -0.4}, half=0.1)
    text = say("Metrics", usual(), worths=worths)
    assert "No metric can be said to follow people here" in text
    assert "`psnr` ranks the models against people" in text


def test_weakly() -> None:
    text = say("Metrics", usual(), worths=made_worths({"ssim": 0.25}))
    assert "follows people only weakly" in text


def test_too_few_pictures() -> None:
    few = usual(sources=FEW_SOURCES - 1)
    text = " ".join(answers(few.dimensions[0], few))
    assert f"cannot be said from {FEW_SOURCES - 1} source images" in text
    assert "stands in" not in text and "The lead is significant" not in text


def test_a_metric_with_few_cases_does_not_lead() -> None:
    worths = made_worths({"ssim": 0.6, "psnr": 0.5})
    sparse = replace(
        worths.metrics[1], metric="rare", rho=about(0.95, n=4), best=None, behind=None, p=None
    )
    found = Worths((*worths.metrics, sparse), worths.ceiling)
    text = say("Metrics", usual(), worths=found)
    assert "`ssim` follows people" in text
    assert (
        "too few of the cases to take part: `rare` (rho 0.95 (0.88 to 1.00, 4 of 52 cases))" in text
    )


def test_no_metric_at_all() -> None:
    nothing = made_worths({"ssim": None, "psnr": None}, ceiling=NOTHING)
    assert "No metric could be compared with people" in say("Metrics", usual(), worths=nothing)
    none = usual(with_runs=False)
    assert "No run with scores was given" in say("Metrics", none)
    unused = replace(none, left_out={"ssim": "no `mask`"})
    text = say("Metrics", unused)
    assert "None of the scores could be used (`ssim`: no 'mask')" in text
    assert "No run" not in text


def test_where_all_metrics_have_few_cases_none_leads() -> None:
    worths = made_worths({"ssim": 0.6})
    rare = replace(worths.metrics[0], best=None, corrected=None, rho=about(0.6, n=20))
    found = replace(worths, metrics=(rare,))
    assert race(found) is None
    text = say("Metrics", usual(), worths=found)
    assert "No metric has a value in half of the cases" in text
    assert "`ssim` at rho 0.60 (0.53 to 0.67, 20 of 52 cases)" in text


def test_without_an_interval_the_words_say_why() -> None:
    worths = made_worths({"ssim": 1.0})
    rho = Estimate(1.0, None, 52, 52, "no interval: all source images say the same")
    same = replace(worths.metrics[0], rho=rho, corrected=None)
    text = say("Metrics", usual(), worths=replace(worths, metrics=(same,)))
    assert (
        "without an interval (all source images say the same)" in text and "stands in" not in text
    )


def test_the_offline_judge_is_said_to_be_a_stand_in() -> None:
    text = say("Metrics", usual(), worths=made_worths({"intended_offline": 0.7, "ssim": 0.3}))
    assert "`intended_offline` comes from the offline stand-in for a judge" in text
    other = say("Metrics", usual(), worths=made_worths({"ssim": 0.7, "intended_offline": 0.3}))
    assert "stand-in" not in other


def test_controls_are_left_out_of_the_comparison_or_decide_it() -> None:
    worths = made_worths({"ssim": 0.79, "psnr": -0.5})
    text = say("Metrics", usual(), worths=worths)
    assert "`ssim` stands in" in text and "Controls are left out of this comparison." in text
    assert "ranks the models against people" in text
    assert "ontrol" not in say("Metrics", usual(controls=()), worths=worths)
    few = made_up(models=("a", "b", "identity"), dimensions=("ea",))
    assert few.compared == few.models
    text = say("Metrics", few, worths=worths)
    assert "`ssim` follows people" in text and "stands in" not in text
    assert "1 of the 3 compared is a control, easily told from the rest, which decides" in text
    assert "`psnr` ranks the outputs against people" in text
    assert "models against" not in text


def test_attention() -> None:
    results = usual()
    [ann, bob] = results.annotators
    assert attention(results) == []
    asleep = replace(ann, controls_passed=4, controls_failed=3)
    fickle = replace(bob, consistency={"ea": about(0.2, n=6, of=6)}, seconds=3.0)
    [first, second] = attention(replace(results, annotators=(asleep, fickle)))
    assert "ann failed 3 of 7 controls" in first
    assert (
        "mean rho with themselves ea 0.20" in second and "took a median of 3 s per case" in second
    )


def test_overview_names_who_and_what() -> None:
    assert overview(made_up()) == (
        "2 people ranked the outputs of 5 models and 1 control run without knowing whose they "
        "were in 52 cases (48 source images), each by more than one."
    )
    assert "without knowing" not in overview(made_up(origin="table"))


def test_names_cannot_break_out_of_their_marks() -> None:
    results = hostile()
    for dimension in results.dimensions:
        for text in answers(dimension, results):
            assert text.count("`") % 2 == 0
            assert "\n" not in text


def test_published_rows_belong_to_their_metric() -> None:
    rho = published_worth().rho
    details = {
        "ea_openai:gpt-4o": {"judge": "openai:gpt-4o"},
        "intended_offline": {"judge": "offline"},
    }
    names = ["ssim", "cp", "cp_published", "lpips_alex", "lpips_alex_published"]
    names += ["isim_clip-vit-l14", "isim_published_clip-vit-l14", "isim_biomedclip"]
    names += ["ea_openai:gpt-4o", "vq_openai:gpt-4o+prompt", "intended_offline", "change_inside"]
    scores = {one.name: one for one in describe(names, details)}

    def of(name: str, dimension: str = "cp") -> tuple[float, bool] | None:
        found = printed(scores[name], dimension)
        return None if found is None else (found.rho, found.exact)

    assert of("ssim") == (rho["SSIM"]["CP"], True)
    assert of("cp_published") == (rho["masked SSIM"]["CP"], True)
    assert of("cp") == (rho["masked SSIM"]["CP"], False)
    assert of("lpips_alex") == (rho["LPIPS"]["CP"], False)
    assert of("lpips_alex_published", "vq") == (rho["LPIPS"]["VQ"], True)
    assert of("isim_published_clip-vit-l14", "ea") == (rho["ISim"]["EA"], True)
    assert of("isim_clip-vit-l14", "ea") == (rho["ISim"]["EA"], False)
    assert of("isim_biomedclip", "ea") == (rho["ISim"]["EA"], False)
    assert of("ea_openai:gpt-4o", "ea") == (rho["judge accuracy_description"]["EA"], False)
    assert of("vq_openai:gpt-4o+prompt", "vq") == (rho["judge quality_prompt"]["VQ"], False)
    assert of("intended_offline") is None and of("change_inside") is None
    assert of("ssim", "beauty") is None and printed(None, "ea") is None


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(-1, 1), st.integers(2, 100))
def test_grades_only_rise_with_the_low_ends(
    value: float, half: float, gap: float, sources: int
) -> None:
    order = ["unknown", "does not follow", "follows weakly", "follows", "stands in"]

    def made(half: float) -> MetricWorth:
        rho = Estimate(value, Interval(value - half, value + half), 52, 52)
        one = Estimate(gap, Interval(gap - half, gap + half), 52, 52)
        return MetricWorth("x", rho, rho, 1.0, None, None, rho.interval, sources, one)

    wide, narrow = made(half), made(half / 2)
    first, second = (order.index(grade(one)) for one in (wide, narrow))
    assert first <= second
    assert grade(replace(wide, corrected=None)) == "unknown"
    assert grade(replace(wide, gap=None)) != "stands in"
    assert grade(wide, with_controls=True) in (grade(wide), "follows")
    assert (grade(wide) == "unknown") == (sources < FEW_SOURCES)


@given(st.floats(0, 1))
def test_percent_never_rounds_to_certainty(share: float) -> None:
    assert (percent(share) == "100 %") == (share == 1)
    assert (percent(share) == "0 %") == (share == 0)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_only_finite_numbers_are_printed(value: float) -> None:
    if np.isfinite(value):
        assert not number(value).startswith("-") and number(value) != "−0.00"
    else:
        with pytest.raises(ValueError, match="not a result"):
            number(value)
        with pytest.raises(ValueError, match="not a result"):
            p_value(value)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.05, 3.0]))
def test_words_from_real_statistics(seed: int, noise: float) -> None:
    """Quality is known: with little noise the order and the metric are found, else not claimed."""
    rng = np.random.default_rng(seed)
    cases, models = 30, ("a", "b", "c", "d", "e")
    quality = np.linspace(1, 0, 5) + 0.02 * rng.standard_normal((cases, 5))
    seen = quality + noise * rng.standard_normal((2, cases, 5))
    names = tuple(f"c{i}" for i in range(cases))
    ranked = Ranked(("ann", "bob"), names, models, names, midranks(-seen))
    metrics = {
        "good": quality + 0.1 * rng.standard_normal((cases, 5)),
        "random": rng.standard_normal((cases, 5)),
    }
    dimension = DimensionResults(
        "ea",
        agreement(ranked),
        order_models(ranked, resamples=200),
        metric_worths(ranked, metrics, resamples=200),
    )
    results = replace(
        made_up(models=models, controls=(), metrics=tuple(metrics)),
        dimensions=(dimension,),
        sources=cases,
    )
    text = " ".join(answers(dimension, results))
    if noise < 1:
        assert "Annotators ranked a highest" in text and "The lead is significant" in text
        assert "`good` stands in for people" in text
        assert "clearly ahead of the next (`random`" in text
    else:
        assert "hardly agree" in text and "stands in" not in text
    assert dimension.worths is not None
    found = race(dimension.worths)
    assert found is not None and found.first is dimension.worths.metrics[0]
