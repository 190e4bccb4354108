"""The offline judge on controls whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

import medebench as mb
from medebench.judge.offline_judge import OfflineJudge


@pytest.fixture
def judged(small_set, tmp_path):
    def judge(editor):
        run = mb.edit(small_set, editor, out=tmp_path / editor.replace(":", "-"))
        mb.score(run, [], "offline")
        frame = run.frame()
        return {
            name: frame.filter(frame["metric"] == name)["value"].to_numpy()
            for name in ("intended_offline", "vq_offline")
        }

    return judge


def test_identity_does_nothing_beautifully(judged):
    scores = judged("identity")
    assert (scores["intended_offline"] == 0).all() and (scores["vq_offline"] == 1).all()


def test_reference_is_the_answer(judged):
    scores = judged("reference")
    assert (scores["intended_offline"] > 0.999).all() and (scores["vq_offline"] > 0.6).all()


@pytest.mark.parametrize("editor", ["noise", "blur"])
def test_harm_lowers_quality_and_edits_nothing(judged, editor):
    scores = judged(editor)
    assert (scores["vq_offline"] < 0.6).all() and (scores["intended_offline"] < 0.35).all()


def test_half_of_the_change_is_between_nothing_and_all(small_set):
    judge = OfflineJudge()
    case = mb.open_case(mb.load_cases(small_set)["1"])
    weights = (0.25, 0.5, 0.75)
    values = []
    for weight in weights:
        mixed = case.previous * (1 - weight) + case.reference * weight
        values.append(judge.judge(case, mixed.astype(np.uint8))["intended_offline"].value)
    assert values == sorted(values)
    # 2w / (1 + w²), up to rounding to 8 bits and the bend of Lab.
    assert values == pytest.approx([2 * w / (1 + w * w) for w in weights], abs=0.12)


def test_what_is_changed_outside_costs_accuracy(small_set):
    judge = OfflineJudge()
    case = mb.open_case(mb.load_cases(small_set)["1"])
    spoiled = case.reference.copy()
    spoiled[34:] = 255
    clean = judge.judge(case, case.reference)["intended_offline"].value
    assert judge.judge(case, spoiled)["intended_offline"].value < clean - 0.1


def test_without_reference_there_is_a_reason(small_set, tmp_path):
    from dataclasses import replace

    cases = mb.load_cases(small_set)
    bare = replace(cases, cases=tuple(replace(case, reference=None) for case in cases))
    verdicts = OfflineJudge().judge(mb.open_case(bare["1"]), np.zeros((48, 64, 3), np.uint8))
    assert {v.value for v in verdicts.values()} == {None}
    assert all("needs a reference" in v.reason for v in verdicts.values())


def test_reference_equal_to_previous_has_no_accuracy(small_set):
    from dataclasses import replace

    case = mb.load_cases(small_set)["1"]
    opened = mb.open_case(replace(case, reference=case.previous))
    verdict = OfflineJudge().judge(opened, opened.previous)["intended_offline"]
    assert verdict.value is None and "alike" in verdict.reason


def test_sixteen_bits_are_judged_like_eight(small_set):
    judge = OfflineJudge()
    case = mb.open_case(mb.load_cases(small_set)["1"])
    output = (case.previous * 0.5 + case.reference * 0.5).astype(np.uint8)
    eight = judge.judge(case, output)
    deep = mb.open_case(case.case)
    deep.__dict__["previous"] = case.previous.astype(np.uint16) * 257
    deep.__dict__["reference"] = case.reference.astype(np.uint16) * 257
    sixteen = judge.judge(deep, output.astype(np.uint16) * 257)
    for name in judge.scores:
        assert sixteen[name].value == pytest.approx(eight[name].value, abs=1e-4)
