"""The model that ships: what its card claims, on a few of the phantoms of the claim."""

from __future__ import annotations

import pytest
import torch

from medebench.editors import find_editor
from medebench.tuning.phantom_editor.evaluation import evaluate


@pytest.fixture(scope="module")
def figures():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    found = evaluate(find_editor("phantom-editor"), count=13)
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
