"""Tables of a predictor: against the plain measures, and what their intervals stand on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medebench.errors import InputError
from medebench.stresstest.predictor_comparison import (
    CLASSIFICATION,
    SEGMENTATION,
    compare,
    paired_difference,
)
from medebench.stresstest.predictor_measures import auroc
from tests.stresstest.drawn_answers import classification, classifier, made, segmentation, segmenter


def _truth(stress, edits, answers):
    """Labels and probabilities of each row, by hand."""
    kept = [edit.intended for edit in edits if edit.kept]
    before = [(one.sample.label == "ill", answers.originals[one.sample.id]) for one in kept]
    after = [(one.label == "ill", answers.edits[one.id]) for one in kept]
    rows = {
        "original": [(one.label == "ill", answers.originals[one.id]) for one in stress.samples],
        "before": before,
        "edited": after,
        "pairs": before + after,
    }
    return {which: tuple(map(np.array, zip(*row, strict=True))) for which, row in rows.items()}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.floats(0.1, 0.9), st.floats(0.1, 0.9))
def test_values_are_those_of_the_plain_measures(seed, right, edited):
    stress = classification(12, 9)
    edits = made(stress, np.random.default_rng(seed).uniform(0.1, 0.5, 12))
    edits[0] = replace(edits[0], kept=True)
    answers = classifier(stress, right=right, edited=edited, seed=seed)
    table = compare(stress, edits, answers).table
    rows = _truth(stress, edits, answers)

    def right_of(which, label=None):
        told = [(true, p >= 0.5) for true, p in zip(*rows[which], strict=True)]
        some = [one for one in told if label is None or one[0] == label]
        return sum(true == said for true, said in some) / len(some)

    assert table["original"]["accuracy"].value == pytest.approx(right_of("original"))
    assert table["original"]["auroc"].value == pytest.approx(auroc(*rows["original"]))
    assert table["before"]["sensitivity"].value == pytest.approx(right_of("before", True))
    assert table["edited"]["specificity"].value == pytest.approx(right_of("edited", False))
    assert table["pairs"]["accuracy"].value == pytest.approx(right_of("pairs"))
    assert table["pairs"]["auroc"].value == pytest.approx(auroc(*rows["pairs"]))
    for measure in ("accuracy", "specificity"):
        lost = table["original"][measure].value - table["edited"][measure].value
        assert table["loss"][measure].value == pytest.approx(lost)
    lost = table["original"]["auroc"].value - table["pairs"]["auroc"].value
    assert table["loss"]["auroc"].value == pytest.approx(lost)


def test_a_value_or_a_reason_and_pictures_that_were_counted():
    stress = classification(30, 20)
    table = compare(stress, made(stress), classifier(stress)).table
    for row in table.values():
        assert set(row) <= set(CLASSIFICATION)
        for one in row.values():
            assert (one.value is None) == bool(one.reason)
            assert (one.value is None) == (one.n == 0)
    assert table["original"]["sensitivity"].n == 30
    assert table["original"]["specificity"].n == 20
    assert table["pairs"]["auroc"].n == 60
    assert table["edited"]["sensitivity"].reason == "no picture is positive"
    assert table["edited"]["auroc"].reason == "all pictures are negative"
    assert table["loss"]["sensitivity"].reason == "no picture is positive"


def test_matched_accuracy_does_not_mistake_a_change_of_classes_for_a_loss():
    """Good on the ill, poor on the well, and just as poor on edits that are all well."""
    stress = classification(200, 200)
    answers = classifier(stress, right=1.0, well=0.6, edited=0.6, seed=1)
    table = compare(stress, made(stress), answers, brief=True).table
    assert table["loss"]["accuracy"].value > 0.15
    assert abs(table["loss"]["accuracy_matched"].value) < 0.06
    matched, plain = (table["original"][name] for name in ("accuracy_matched", "specificity"))
    assert matched.value == pytest.approx(plain.value)
    assert matched.interval == pytest.approx(plain.interval)


def test_matched_accuracy_of_mixed_edits_weighs_the_classes():
    stress = classification(60, 20)
    kinds = [
        replace(one, label="ill" if place < 15 else "well")
        for place, one in enumerate(stress.intended)
    ]
    stress = replace(stress, intended=tuple(kinds))
    answers = classifier(stress, right=0.9, well=0.5, seed=2)
    table = compare(stress, made(stress), answers, brief=True).table
    original = table["original"]
    expected = 0.25 * original["sensitivity"].value + 0.75 * original["specificity"].value
    assert original["accuracy_matched"].value == pytest.approx(expected)


def test_nothing_kept_is_a_reason_everywhere():
    stress = classification(10, 10)
    table = compare(stress, made(stress, [0.0] * 10), classifier(stress)).table
    assert table["original"]["accuracy"].value is not None
    for which in ("before", "edited", "pairs", "loss"):
        assert {one.reason for one in table[which].values()} == {"no edit was kept"}
    stress = segmentation(5)
    table = compare(stress, made(stress, [0.0] * 5), segmenter(stress)).table
    assert {one.reason for one in table["loss"].values()} == {"no edit was kept"}


def test_pictures_of_one_patient_widen_intervals():
    alone, together = classification(80, 80), classification(80, 80, per_patient=4)
    answers = classifier(alone, edited=0.5, seed=3)
    # All four pictures of a patient get the same answer.
    same = {
        "originals": {
            one.id: answers.originals[f"{int(one.id) // 4 * 4}"] for one in alone.samples
        },
        "edits": {one.id: answers.edits[f"{int(one.id) // 4 * 4}"] for one in alone.intended},
    }
    answers = replace(answers, **same)
    widths = []
    for stress in (alone, together):
        table = compare(stress, made(stress), answers).table
        places = [("edited", "accuracy"), ("loss", "accuracy"), ("pairs", "auroc")]
        widths.append([np.diff(table[row][name].interval)[0] for row, name in places])
    assert np.all(np.array(widths[1]) > 1.5 * np.array(widths[0]))


def test_order_of_pictures_and_edits_changes_nothing():
    stress = classification(20, 20, per_patient=2)
    answers = classifier(stress, seed=4)
    turned = replace(stress, samples=stress.samples[::-1], intended=stress.intended[::-1])
    one = compare(stress, made(stress), answers).table
    other = compare(turned, made(turned), answers).table
    for which, row in one.items():
        for name, quantity in row.items():
            assert other[which][name].value == pytest.approx(quantity.value, abs=1e-12)
            if quantity.interval:
                assert other[which][name].interval == pytest.approx(quantity.interval, abs=1e-9)


def test_loss_of_dice_is_paired():
    """Pictures differ much more from each other than each does from its edit."""
    stress = segmentation(30)
    rng = np.random.default_rng(5)
    hard = dict(zip([one.id for one in stress.samples], rng.uniform(0.5, 0.95, 30), strict=True))
    answers = segmenter(stress)
    lost = dict(zip(hard, rng.uniform(0.015, 0.025, 30), strict=True))
    edits = {name: dice - lost[name] for name, dice in hard.items()}
    answers = replace(answers, originals=hard, edits=edits)
    table = compare(stress, made(stress), answers).table
    loss = table["loss"]["dice"]
    assert loss.value == pytest.approx(np.mean(list(lost.values())))
    assert 0.015 < loss.interval.low < loss.value < loss.interval.high < 0.025
    assert np.diff(table["edited"]["dice"].interval)[0] > 0.05


def test_an_empty_mask_counts_in_dice_and_is_missing_from_distances():
    stress = segmentation(20)
    answers = segmenter(stress)
    empty = {"0": 0.0, "1": 0.0}
    answers = replace(
        answers,
        edits={**answers.edits, **empty},
        edit_distances={**answers.edit_distances, "0": None, "1": None},
    )
    table = compare(stress, made(stress), answers).table
    assert set(table["edited"]) == set(SEGMENTATION)
    assert table["edited"]["dice"].n == 20
    assert table["edited"]["average_hausdorff"].n == 18
    assert table["edited"]["dice"].value == pytest.approx(np.mean(list(answers.edits.values())))
    # A distance that grew is a loss.
    assert table["loss"]["average_hausdorff"].value > 0
    silent = replace(answers, edit_distances=dict.fromkeys(answers.edits))
    table = compare(stress, made(stress), silent).table
    assert "mask is empty" in table["edited"]["average_hausdorff"].reason


def test_kinds_have_tables_of_their_own():
    stress = segmentation(25, ("oedema", "pacemaker"))
    answers = segmenter(stress)
    worse = {
        one.id: answers.edits[one.id] - (0.2 if one.kind == "pacemaker" else 0)
        for one in stress.intended
    }
    outcome = compare(stress, made(stress), replace(answers, edits=worse))
    lost = {kind: table["loss"]["dice"] for kind, table in outcome.kinds.items()}
    assert lost["pacemaker"].value - lost["oedema"].value == pytest.approx(0.2, abs=0.02)
    assert lost["oedema"].n == 25
    whole = outcome.table["loss"]["dice"]
    assert whole.n == 50
    assert whole.value == pytest.approx((lost["oedema"].value + lost["pacemaker"].value) / 2)
    assert compare(stress, made(stress)[:25], answers).kinds == {}


def test_difference_of_two_segmenters_is_paired():
    stress = segmentation(30)
    edits = made(stress)
    weak = segmenter(stress, "weak", after=0.85, seed=6)
    strong = segmenter(stress, "strong", after=0.88, seed=7)
    more = paired_difference(stress, edits, weak, strong)
    tables = [compare(stress, edits, one).table["loss"]["dice"] for one in (weak, strong)]
    assert more.value == pytest.approx(tables[0].value - tables[1].value)
    assert 0 < more.interval.low < more.value < more.interval.high
    back = paired_difference(stress, edits, strong, weak)
    assert back.value == pytest.approx(-more.value)
    same = paired_difference(stress, edits, weak, weak)
    assert (same.value, same.interval) == (0, None)


def test_difference_of_two_classifiers_holds_the_truth():
    """Both find the same pictures hard, so that their losses hang together."""
    stress = classification(40, 40)
    edits = made(stress)
    held = 0
    for seed in range(60):
        one = classifier(stress, "biased", right=0.97, edited=0.2, seed=seed)
        other = classifier(stress, "fair", right=0.9, edited=0.85, seed=seed)
        more = paired_difference(stress, edits, one, other)
        held += more.interval.low <= (0.97 - 0.2) - (0.9 - 0.85) <= more.interval.high
    assert held >= 54


def test_answers_that_are_missing_or_no_probability_are_named():
    stress = classification(5, 5)
    answers = classifier(stress)
    missing = replace(answers, edits={k: v for k, v in answers.edits.items() if k != "3"})
    with pytest.raises(InputError, match="predictor mine: has no answer for 3"):
        compare(stress, made(stress), missing)
    for value in (float("nan"), 1.5, -0.1):
        wrong = replace(answers, originals={**answers.originals, "7": value})
        with pytest.raises(InputError, match="for 7 is not between 0 and 1"):
            compare(stress, made(stress), wrong)
    other = classification(7, 1)
    with pytest.raises(InputError, match="not in the test set"):
        compare(stress, made(other), classifier(other))


def test_three_groups_have_no_interval_but_a_word():
    stress = segmentation(3)
    found = compare(stress, made(stress), segmenter(stress)).table["loss"]["dice"]
    assert found.value is not None and found.interval is None
    assert found.reason == "no interval: 3 source images"
