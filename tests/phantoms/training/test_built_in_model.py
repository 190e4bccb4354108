"""The model that ships: what its card claims, on a few of the phantoms of the claim."""

from __future__ import annotations

import pytest
import torch

from medebench.grounding.attention_floors import FLOORS
from medebench.phantoms.training.phantom_editor.editor_evaluation import (
    _CaseValues,
    _figures,
    evaluate,
)
from medebench.systems import find_system


@pytest.fixture(scope="module")
def figures():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    found = evaluate(find_system("phantom-editor"), count=13)
    torch.set_num_threads(before)
    return {one.name: one for one in found}


def test_it_edits(figures):
    own = figures["done, own instruction"]
    assert own.phantoms >= 12
    assert figures["done, identity"].mean == pytest.approx(0, abs=1e-6)
    assert own.interval is not None and own.interval.low > 0.15


def test_it_follows_the_text(figures):
    more = figures["done, own less wrong"]
    assert more.interval is not None and more.interval.low > 0.1


def test_it_preserves(figures):
    assert figures["cp, own instruction"].mean > 0.84


def test_it_looks_where_the_edit_belongs(figures):
    more = figures["attention IoU less chance"]
    assert more.interval is not None and more.interval.low > 0
    assert figures["attention pointing game"].mean > figures["attention pointing game, chance"].mean


@pytest.mark.parametrize(
    "measure", ["attention IoU", "attention energy", "attention pointing game"]
)
def test_floors_stand_beside_its_attention(figures, measure):
    for label in FLOORS.values():
        beside = figures[f"{measure}, {label}"]
        assert beside.phantoms == figures["attention IoU"].phantoms
        assert 0 < beside.mean < 1
    frame = figures[f"{measure}, {FLOORS['frame']}"].mean
    assert frame == pytest.approx(figures["attention energy, chance"].mean)


def test_intervals_stay_on_the_scale_and_the_input_is_exact(figures):
    for one in figures.values():
        if one.name.startswith("attention") and "less" not in one.name:
            assert 0 <= one.interval.low <= one.interval.high <= 1
    assert figures["missed, identity"].interval == (1, 1)


def test_three_phantoms_have_a_word_and_no_interval():
    seen = [
        _CaseValues(str(n), {"attention IoU": n / 4, "missed, identity": 1.0}) for n in range(3)
    ]
    first, second = _figures(seen)
    assert (first.interval, first.why) == (None, "no interval: 3 source images")
    assert (second.interval, second.why) == ((1, 1), "")
