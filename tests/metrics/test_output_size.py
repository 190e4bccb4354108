"""Size and shape of what came, which no other metric of images sees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import medebench as mb
from medebench.cases.case import Case
from medebench.metrics import find_metric
from medebench.metrics.metric import Undefined
from medebench.metrics.output_size import aspect_ratio, size_ratio
from tests.conftest import draw

sides = st.integers(1, 5000)
sizes = st.tuples(sides, sides)


@given(sizes, sizes)
def test_both_ratios_give_the_sides_back(output, wanted):
    aspect, size = aspect_ratio(output, wanted), size_ratio(output, wanted)
    assert output[1] == pytest.approx(wanted[1] * size * aspect**0.5)
    assert output[0] == pytest.approx(wanted[0] * size / aspect**0.5)
    assert aspect * aspect_ratio(wanted, output) == pytest.approx(1)


@pytest.fixture
def case(tmp_path):
    for name, size in (("previous", (40, 60)), ("reference", (80, 120))):
        Image.fromarray(draw(1, *size)).save(tmp_path / f"{name}.png")

    def make(**changes):
        paths = tmp_path / "previous.png", tmp_path / "reference.png"
        return mb.open_case(Case("1", paths[0], "?", reference=paths[1], **changes)).compared()

    return make


def test_an_output_is_measured_as_it_came_against_what_is_asked_for(case):
    aspect, size = find_metric("output_aspect_ratio"), find_metric("output_size_ratio")
    came = np.zeros((80, 80, 3), np.uint8)
    for opened, factor in ((case(), 2.0), (case(grid="reference"), 1.0)):
        output = mb.Output(opened.fit(came), original=came)
        measured = aspect.measure(opened, output)
        assert measured.value == pytest.approx(2 / 3)
        assert measured.detail["came"] == "80 x 80"
        assert size(opened, output) == pytest.approx(factor * (2 / 3) ** 0.5)
        right = mb.Output(opened.previous)
        assert aspect(opened, right) == size(opened, right) == 1


def test_without_an_image_there_is_no_size(case):
    with pytest.raises(Undefined, match="has no image"):
        find_metric("output_size_ratio")(case(), mb.Output(text="no"))
    nothing = mb.open_case(Case("1", None, "?"))
    with pytest.raises(Undefined, match="asks for no size"):
        find_metric("output_aspect_ratio")(nothing, mb.Output(draw(1)))
