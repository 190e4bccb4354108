"""Failure types: every rule by hand, the controls, and the real outputs of seven models."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pydantic import ValidationError

import medebench as mb
from medebench.grounding import (
    FAILURE_TYPES,
    GROUNDING_METRICS,
    Evidence,
    Thresholds,
    diagnose,
)
from medebench.judge import assess_now, find_judge
from medebench.metrics import Undefined, find_metrics
from medebench.phantoms.drawings import write_phantoms
from medebench.systems import Request, find_system

#: A change in the right place, of which nobody has said yet whether it is right.
PLACED = Evidence(
    change_area=0.1,
    change_cover=0.6,
    change_context=0.02,
    change_spill=0.1,
    change_iou=0.5,
    change_tone=1.0,
    change_detail=0.9,
)
EMPTY = replace(PLACED, change_area=0.0, change_cover=0.0, change_context=0.0, change_spill=None)


@pytest.mark.parametrize(
    ("evidence", "kind", "word"),
    [
        (replace(PLACED, ea=0.9, vq=0.9), "success", "EA is 0.90"),
        (replace(PLACED, edit_residual=0.2, edit_completion=0.9), "success", "20%"),
        (replace(PLACED, roi_residual=0.3, roi_structure=0.9), "success", "structure"),
        (replace(PLACED, edit_residual=0.2, roi_detail=0.2), "damaged", "inside the ROI blurred"),
        (replace(PLACED, edit_residual=0.2, roi_detail=3.0), "damaged", "inside the ROI noisy"),
        (replace(PLACED, edit_residual=0.2, roi_grain=3.0), "damaged", "3.0 times finer"),
        (replace(PLACED, ea=0.9, vq=0.9, roi_detail=0.2, roi_structure=0), "success", "EA is 0.90"),
        (replace(EMPTY, ea=0.9, vq=0.9), "nothing", "0.0% of the image"),
        (replace(EMPTY, change_tone=9.0), "nothing", "tone shifted, by 9"),
        (replace(PLACED, ea=0.2, vq=0.8), "weak", "60% of the ROI"),
        (replace(PLACED, ea=0.2, vq=0.2), "weak", "EA is 0.20"),
        (replace(PLACED, edit_residual=0.9, edit_completion=0.2), "weak", "20% done"),
        (replace(PLACED, ea=0.2, change_spill=0.9), "wrong_place", "90% of the change"),
        (replace(PLACED, change_spill=0.9), "wrong_place", "outside the ROI"),
        (replace(PLACED, ea=0.9, vq=0.9, change_context=0.8), "repainted", "80% of the surr"),
        (replace(PLACED, ea=0.9, vq=0.9, change_tone=18.0), "repainted", "off by 18"),
        (replace(PLACED, ea=0.9, vq=0.2), "damaged", "VQ is 0.20"),
        (replace(EMPTY, change_detail=0.1), "damaged", "blurred"),
        (replace(EMPTY, change_detail=6.0), "damaged", "noisy"),
    ],
)
def test_rules(evidence, kind, word):
    finding = diagnose(evidence)
    assert finding.type == kind and word in finding.why
    assert finding.label == FAILURE_TYPES[kind] and finding.evidence == evidence


def test_a_faint_edit_is_an_edit_unless_the_tone_explains_it():
    faint = replace(EMPTY, edit_residual=0.1, edit_completion=1.0)
    assert diagnose(faint).type == "success"
    assert diagnose(replace(faint, change_tone=5.0)).type == "nothing"


def test_a_good_edit_that_spills_is_still_good_for_the_judge():
    assert diagnose(replace(PLACED, ea=0.9, vq=0.9, change_spill=0.8)).type == "success"


def test_attention_is_told_where_the_place_is_wrong():
    lost = replace(PLACED, ea=0.1, change_spill=0.9, attention_iou=0.4)
    assert "attention IoU 0.40" in diagnose(lost).why


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        (Evidence(ea=0.9), "not compared"),
        (Evidence(change_area=0.2, ea=0.9), "without an ROI"),
        (PLACED, "only a model can judge"),
        (replace(PLACED, roi_residual=0.9, roi_structure=0.9), "another photograph"),
        (replace(PLACED, edit_residual=0.1, roi_structure=0.2), "not built like the reference"),
        (replace(PLACED, edit_residual=0.1, roi_detail=0.5), "0.5 times the detail"),
        (replace(PLACED, edit_residual=0.1, roi_grain=1.8), "1.8 times finer"),
        (replace(PLACED, edit_residual=0.9, roi_structure=0.9, change_tone=5.0), "tone of the"),
    ],
)
def test_too_little_evidence_is_a_reason(evidence, reason):
    with pytest.raises(Undefined, match=reason):
        diagnose(evidence)


def test_thresholds_move_the_borders():
    evidence = replace(PLACED, ea=0.6, vq=0.9)
    assert diagnose(evidence).type == "weak"
    assert diagnose(evidence, Thresholds(good_ea=0.5)).type == "success"
    assert diagnose(evidence, Thresholds(repainted_context=0.01)).type == "repainted"
    with pytest.raises(ValidationError):
        Thresholds(good_ea=1.5)
    assert all(field.description for field in Thresholds.model_fields.values())


def test_evidence_from_a_ledger():
    scores = {"change_area": 0.1, "vq_offline": 0.6, "ea_m": 0.9, "cp": 0.5}
    assert Evidence.of(scores) == Evidence(change_area=0.1)
    assert Evidence.of(scores, "m") == Evidence(change_area=0.1, ea=0.9)
    shown = Evidence.of(scores | {"intended_offline": 0.3})
    assert shown == Evidence(change_area=0.1, intended=0.3)


shares = st.none() | st.floats(0, 1)


@given(
    st.builds(
        Evidence,
        change_area=shares,
        change_cover=shares,
        change_context=shares,
        change_spill=shares,
        change_tone=st.none() | st.floats(0, 20),
        change_detail=st.none() | st.floats(0, 10),
        roi_detail=st.none() | st.floats(0, 10),
        roi_grain=st.none() | st.floats(0, 10),
        roi_structure=st.none() | st.floats(-1, 1),
        roi_residual=st.none() | st.floats(0, 2),
        edit_completion=st.none() | st.floats(-1, 2),
        edit_residual=st.none() | st.floats(0, 2),
        ea=shares,
        vq=shares,
    )
)
def test_any_evidence_has_a_type_or_a_reason(evidence):
    try:
        finding = diagnose(evidence)
    except Undefined as reason:
        assert str(reason)
    else:
        assert finding.type in FAILURE_TYPES and finding.why


def _scores(case, output):
    found = {}
    for metric in (*GROUNDING_METRICS, *find_metrics(["edit_completion", "edit_residual"])):
        try:
            found[metric.name] = metric(case, output)
        except Undefined:
            found[metric.name] = None
    verdicts = assess_now(find_judge("offline"), case, output).verdicts
    return found | {name: verdict.value for name, verdict in verdicts.items()}


def test_the_controls_get_the_type_they_were_made_for(tmp_path):
    write_phantoms(tmp_path / "set", 13)
    expected = {
        "identity": "nothing",
        "reference": "success",
        "blur": "damaged",
        "noise": "damaged",
    }
    found = {name: Counter() for name in expected}
    for case in mb.load_cases(tmp_path / "set"):
        opened = mb.open_case(case)
        for name in expected:
            output = find_system(name).system.edit(Request(opened, 0, 1))
            found[name][diagnose(Evidence.of(_scores(opened, output))).type] += 1
    assert found == {name: Counter({kind: 13}) for name, kind in expected.items()}


@pytest.fixture(scope="module")
def real(excerpt):
    """Scores of all published outputs, ours and the published judge's."""
    published = json.loads((excerpt / "published_scores.json").read_text())
    cases = mb.load_cases(excerpt)
    found = {}
    for case in next(iter(published.values())):
        opened = mb.open_case(cases[case])
        for model in published:
            path = excerpt / "generated_images" / model / f"{case}_0.png"
            output = opened.fit(np.asarray(Image.open(path).convert("RGB")))
            judged = published[model][case]
            found[model, case] = _scores(opened, output) | {
                "ea_published": judged["gpt4o_editing_accuracy_detailed"] / 10,
                "vq_published": judged["gpt4o_visual_quality_detailed"] / 10,
            }
    return found


def test_every_real_output_gets_its_measures_and_a_finding(real):
    assert len(real) == 63
    for scores in real.values():
        measured = [scores[metric.name] for metric in GROUNDING_METRICS]
        nothing = scores["change_area"] == 0
        assert measured.count(None) == (1 if nothing else 0)
        assert diagnose(Evidence.of(scores, "published")).why


#: Looked at on contact sheets while the thresholds were set, and clear to see: these guard against
#: regressions. They were picked afterwards, so that all agree says nothing about new pictures.
SEEN = {
    ("gemini_2_flash", "53"): "success",
    ("gemini_2_flash", "998"): "success",
    ("gemini_2_flash", "752"): "success",
    ("icedit", "951"): "success",
    ("icedit", "752"): "success",
    ("seedx", "64"): "nothing",
    ("seedx", "998"): "nothing",
    ("seedx", "752"): "nothing",
    ("instruct-diffusion", "45"): "nothing",
    ("instruct-diffusion", "998"): "nothing",
    ("icedit", "998"): "weak",
    ("icedit", "45"): "weak",
    ("icedit", "18"): "weak",
    ("icedit", "53"): "weak",
    ("seedx", "951"): "wrong_place",
    ("instruct-pix2pix", "951"): "wrong_place",
    ("instruct-diffusion", "53"): "wrong_place",
    ("instruct-diffusion", "48"): "repainted",
    ("instruct-diffusion", "951"): "repainted",
    ("paint-by-inpaint", "18"): "repainted",
    ("paint-by-inpaint", "752"): "repainted",
    ("imagic-sd-v1-4", "698"): "repainted",
    ("seedx", "53"): "repainted",
    ("instruct-pix2pix", "18"): "damaged",
}


def test_clear_cases_keep_their_types(real):
    found = {key: diagnose(Evidence.of(real[key], "published")).type for key in SEEN}
    assert found == SEEN


def test_without_a_model_as_judge_types_do_not_contradict_it(real):
    """Fewer outputs can be told, because most references are other photographs."""
    told, unlike = 0, 0
    for scores in real.values():
        try:
            kind = diagnose(Evidence.of(scores)).type
        except Undefined as reason:
            assert "only a model" in str(reason)
            continue
        told += 1
        unlike += kind != diagnose(Evidence.of(scores, "published")).type
    assert told >= 40 and unlike <= 3
