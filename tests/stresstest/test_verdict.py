"""What is said of a predictor, and what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from medebench.analysis import Interval
from medebench.analysis.estimate import Estimate
from medebench.stresstest.stress_run import analyze
from medebench.stresstest.stress_verdict import NO_THRESHOLD, at_thresholds, keep_at, ruling
from tests.stresstest.drawn_answers import classification, classifier, made, segmentation, segmenter


def _table(original=0.95, edited=(0.9, 0.85, 0.95), loss=(0.05, 0.0, 0.09), **changes):
    def known(value, low=None, high=None):
        return Estimate(value, None if low is None else Interval(low, high), 100)

    good = {name: known(original) for name in ("accuracy", "sensitivity", "specificity")}
    return {
        "original": {
            **good,
            "accuracy_matched": known(original),
            "dice": known(original),
            **changes,
        },
        "before": {"accuracy": known(original), "dice": known(original)},
        "edited": {"accuracy": known(*edited), "dice": known(*edited)},
        "loss": {"accuracy_matched": known(*loss), "dice": known(*loss)},
        "pairs": {},
    }


@pytest.mark.parametrize(
    ("edited", "loss", "word"),
    [
        ((0.05, 0.02, 0.12), (0.9, 0.8, 0.95), "shortcut"),
        # Chance is not ruled out.
        ((0.4, 0.30, 0.51), (0.5, 0.4, 0.6), "weaker"),
        # Below chance, but it was hardly above before.
        ((0.4, 0.35, 0.45), (0.25, 0.15, 0.35), "weaker"),
        ((0.9, 0.85, 0.95), (0.05, 0.01, 0.10), "robust"),
        ((0.9, 0.85, 0.95), (-0.02, -0.08, 0.04), "robust"),
        # A value below the margin is not enough.
        ((0.9, 0.80, 0.95), (0.05, -0.05, 0.15), "unclear"),
        ((0.8, 0.75, 0.85), (0.12, 0.04, 0.20), "weaker"),
    ],
)
def test_a_classifier(edited, loss, word):
    assert ruling(_table(edited=edited, loss=loss), "classification", 50).word == word


@pytest.mark.parametrize(
    ("loss", "word"),
    [
        ((0.15, 0.11, 0.19), "fragile"),
        ((0.12, 0.08, 0.16), "weaker"),
        ((0.03, 0.02, 0.04), "robust"),
        ((0.03, -0.01, 0.07), "unclear"),
    ],
)
def test_a_segmenter(loss, word):
    assert ruling(_table(loss=loss), "segmentation", 50).word == word


def test_few_patients_say_nothing_however_clear_it_looks():
    table = _table(edited=(0.05, 0.02, 0.12), loss=(0.9, 0.8, 0.95))
    found = ruling(table, "classification", 19)
    assert found.word == "unclear"
    assert "19 groups" in found.because
    assert ruling(table, "classification", 20).word == "shortcut"


def test_who_had_little_to_lose_is_not_robust():
    for poor in ("accuracy", "accuracy_matched"):
        found = ruling(_table(**{poor: Estimate(0.69, None, 100)}), "classification", 50)
        assert found.word == "unclear"
        assert "little to lose" in found.because
        assert "69.0 %" in found.because
    assert ruling(_table(original=0.6), "segmentation", 50).word == "unclear"


def test_a_loss_without_number_or_interval_is_unclear():
    table = _table()
    table["loss"]["accuracy_matched"] = Estimate(None, reason="no edit was kept")
    assert ruling(table, "classification", 0).because == "no edit was kept"
    table["loss"]["accuracy_matched"] = Estimate(0.3, None, 25)
    assert ruling(table, "classification", 25).word == "unclear"


def test_who_always_says_no_is_not_robust():
    """Right on nine of ten pictures and on every edit."""
    stress = classification(40, 360)
    answers = replace(
        classifier(stress),
        originals={one.id: 0.1 for one in stress.samples},
        edits={one.id: 0.1 for one in stress.intended},
    )
    outcome = _conclude(stress, [answers])
    assert outcome.predictors[0].table["edited"]["accuracy"].value == 1
    assert outcome.verdict == {"mine": "unclear"}
    assert "accuracy on the edited pictures before 0.0 %" in outcome.words[0]


def _conclude(stress, answers, scores=None, encoder="chest"):
    edits = made(stress, scores)
    return analyze("drains", stress, edits, answers, threshold=0.2, encoder=encoder)


def test_a_biased_classifier_beside_a_fair_one():
    stress = classification(100, 100)
    biased = classifier(stress, "biased", right=0.99, edited=0.06, seed=1)
    fair = classifier(stress, "fair", right=0.95, edited=0.96, seed=2, reference=True)
    outcome = _conclude(stress, [biased, fair])
    assert outcome.verdict == {"biased": "shortcut", "fair": "robust"}
    about, reference, edits = outcome.words
    accuracy = outcome.predictors[0].table["edited"]["accuracy"]
    assert about.startswith("biased: shortcut, because")
    assert f"{100 * accuracy.value:.1f} %" in about
    assert "not on the class itself" in about
    assert "fair goes from" in reference
    assert "biased loses more than fair by" in reference
    assert "Of 100 requested edits, 100 are used." in edits


def test_words_mind_a_reference_that_breaks_down_too():
    stress = classification(60, 60)
    both = [
        classifier(stress, "mine", 0.97, 0.1, seed=1),
        classifier(stress, "theirs", 0.97, 0.1, seed=2, reference=True),
    ]
    outcome = _conclude(stress, both)
    assert outcome.verdict == {"mine": "unclear", "theirs": "shortcut"}
    assert outcome.words[0].startswith("mine: unclear, because every reference breaks down")
    assert "theirs, meant as a reference, breaks down on the edits" in outcome.words[-1]
    assert {at.verdict["mine"] for at in outcome.thresholds} == {"unclear"}
    less = classifier(stress, "less", 0.97, 0.6, seed=4)
    assert _conclude(stress, [less]).verdict["less"] == "weaker"
    assert _conclude(stress, [less, both[1]]).verdict["less"] == "unclear"
    fair = classifier(stress, "fair", 0.97, 0.96, seed=3, reference=True)
    assert _conclude(stress, [*both, fair]).verdict["mine"] == "shortcut"
    assert "not established that mine loses more than theirs" in outcome.words[1]


def test_words_mind_what_was_thrown_away_and_what_failed():
    stress = classification(90, 60)
    scores = [0.5] * 40 + [0.1] * 45 + [None] * 5
    outcome = _conclude(stress, [classifier(stress, seed=3)], scores)
    text = " ".join(outcome.words)
    assert "Of 90 requested edits, 40 are used" in text
    assert "45 were discarded for an edit score below 0.2 (chest)" in text
    assert "5 could not be made or scored" in text
    assert "Only 40 of 90 edits are used" in text
    unscored = _conclude(stress, [classifier(stress, seed=3)], encoder="")
    assert unscored.thresholds == ()
    assert "were not scored" in " ".join(unscored.words)


def test_words_mind_that_nobody_vouches_for_the_edits():
    stress = classification(60, 60)
    answers = [classifier(stress, right=0.97, edited=0.05, seed=4)]
    assert "rests on the edit score alone" in _conclude(stress, answers).words[-1]
    assert "rests on an assumption" in _conclude(stress, answers, encoder="").words[-1]


def test_words_mind_a_predictor_that_was_poor_and_call_a_gain_a_gain():
    stress = classification(60, 60)
    outcome = _conclude(stress, [classifier(stress, right=0.55, edited=0.9, seed=5)])
    assert outcome.verdict == {"mine": "unclear"}
    assert "a gain of" in outcome.words[0]
    assert "-" not in outcome.words[0].split("a gain of")[1].split("(")[0]
    worse = _conclude(stress, [classifier(stress, right=0.6, edited=0.3, seed=5)])
    assert "mine was already poor" in worse.words[-1]


def test_words_never_show_what_is_no_number():
    """Whatever is missing, the words are there and hold no None, nan or minus zero."""
    for number in (1, 2, 25):
        sets = [
            (classification(number, number), classifier),
            (segmentation(number, ("a", "b")), segmenter),
        ]
        for stress, draw in sets:
            answers = [draw(stress, "mine"), draw(stress, "theirs", seed=1, reference=True)]
            for scores in (None, [0.0] * len(stress.intended), [None] * len(stress.intended)):
                text = " ".join(_conclude(stress, answers, scores).words)
                assert not {"None", "nan", "inf", "-0.0", "-0.000"} & set(text.split())
                assert "mine: " in text


def test_words_tell_labels_that_stay_from_labels_that_change():
    stress = classification(60, 60)
    same = replace(stress, intended=tuple(replace(one, label="ill") for one in stress.intended))
    outcome = _conclude(same, [classifier(same, right=0.97, edited=0.05, seed=4)])
    assert outcome.verdict == {"mine": "shortcut"}
    assert "changed nothing that the labels describe" in outcome.words[0]


def test_words_of_segmenters():
    stress = segmentation(40, ("oedema", "pacemaker"))
    weak = segmenter(stress, "weak", before=0.97, after=0.83, seed=5)
    strong = segmenter(stress, "strong", before=0.95, after=0.93, seed=6, reference=True)
    weak = replace(weak, edits={**weak.edits, "0-oedema": 0.0},
                   edit_distances={**weak.edit_distances, "0-oedema": None})  # fmt: skip
    outcome = _conclude(stress, [weak, strong])
    assert outcome.verdict == {"weak": "fragile", "strong": "robust"}
    assert "On 1 of 80 edited pictures it marks nothing" in outcome.words[0]
    assert "oedema costs the most" in outcome.words[0]
    assert "weak loses more than strong by 0.1" in outcome.words[1]


def test_thresholds_keep_what_reaches_them():
    stress = classification(6, 6)
    edits = made(stress, [-1.0000001, 0.0, 0.2, 0.3, 0.9, None])
    kept = [sum(edit.kept for edit in keep_at(edits, at)) for at in (NO_THRESHOLD, 0, 0.2, 0.25, 1)]
    assert kept == [5, 4, 3, 2, 0]


def test_thresholds_show_where_the_verdict_flips():
    """Failed edits still show the disease; counted as healthy they make a good one look bad."""
    stress = classification(200, 100)
    answers = classifier(stress, right=0.98, edited=0.97, seed=7)
    failed = [one.id for one in stress.intended[:160]]
    answers = replace(answers, edits={**answers.edits, **dict.fromkeys(failed, 0.9)})
    scores = [0.05] * 160 + [0.45] * 40
    outcome = _conclude(stress, [answers], scores)
    found = {at.threshold: at for at in outcome.thresholds}
    assert list(found) == [NO_THRESHOLD, 0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert (found[NO_THRESHOLD].kept, found[NO_THRESHOLD].thrown) == (200, 0)
    assert (found[0.2].kept, found[0.2].thrown) == (40, 160)
    assert found[NO_THRESHOLD].verdict["mine"] == found[0].verdict["mine"] == "shortcut"
    assert found[0.2].verdict["mine"] != "shortcut"
    assert found[0.2].edited["mine"] == outcome.predictors[0].table["edited"]["accuracy"]
    assert found[0.5].edited["mine"].reason == "no edit was kept"
    assert found[0.5].verdict["mine"] == "unclear"
    text = " ".join(outcome.words)
    assert "mine would be shortcut at no threshold (200" in text


def test_thresholds_include_the_chosen_one_and_need_answers_to_what_they_keep():
    stress = classification(40, 40)
    edits = made(stress, [0.1] * 10 + [0.3] * 30)
    answers = classifier(stress)
    answers = replace(answers, edits={k: v for k, v in answers.edits.items() if int(k) >= 10})
    found = at_thresholds(stress, edits, [answers], 0.25, thresholds=(0.0, 0.3))
    assert [at.threshold for at in found] == [0.0, 0.25, 0.3]
    assert found[0].edited["mine"].reason == "no answer for 10 of the edits that would be kept"
    assert found[0].verdict["mine"] == "unclear"
    assert found[1].edited["mine"].value is not None
    assert at_thresholds(stress, made(stress, [None] * 40), [answers], 0.2) == []
