from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.systems.diffusion.model_frame import MIN_CELLS, frame_for
from medebench.systems.request import Refused
from tests.conftest import draw


@pytest.mark.parametrize(
    ("width", "height", "framing", "canvas"),
    [
        (512, 512, "aspect", (512, 512)),
        (1024, 512, "aspect", (704, 384)),
        (97, 61, "aspect", (640, 384)),
        (97, 61, "stretch", (512, 512)),
        (61, 61, "aspect", (512, 512)),
        (40, 300, "aspect", (192, 1408)),
    ],
)
def test_canvases(width, height, framing, canvas):
    assert frame_for(draw(1, height, width), 512, 64, framing).canvas == canvas


@given(st.integers(1, 4000), st.integers(1, 4000), st.integers(16, 1024), st.sampled_from((8, 64)))
def test_a_canvas_fits_the_model_and_keeps_area_and_shape(width, height, size, multiple):
    picture = np.broadcast_to(np.uint8(0), (height, width, 3))
    try:
        frame = frame_for(picture, size, multiple, "aspect")
    except Refused as refused:
        # Narrow, and nothing else, is refused.
        scale = size / (width * height) ** 0.5
        assert min(width, height) * scale < (MIN_CELLS - 0.5) * multiple + 1e-6
        assert f"{width} x {height} is too narrow" in str(refused)
        return
    for side, wanted in zip(frame.canvas, (width, height), strict=True):
        assert side % multiple == 0 and side >= MIN_CELLS * multiple
        if width != height:
            scale = size / (width * height) ** 0.5
            assert abs(side - wanted * scale) <= multiple / 2 + 1e-6


def test_there_and_back_is_the_picture():
    picture = draw(5, 61, 97)
    frame = frame_for(picture, 512, 8, "aspect")
    seen = frame.to_model(picture, 255)
    assert seen.size == frame.canvas
    back = frame.from_model(np.asarray(seen) / 255)
    assert back.shape == picture.shape and np.abs(back.astype(int) - picture).mean() < 1
    assert frame.facts(np.asarray(seen)) == {
        "canvas": list(frame.canvas),
        "resized": "lanczos",
        "framing": "aspect",
    }


def test_a_picture_of_the_right_size_is_not_touched():
    picture = draw(5, 64, 64)
    frame = frame_for(picture, 64, 8, "aspect")
    values = np.asarray(frame.to_model(picture, 255)) / 255
    assert np.array_equal(frame.from_model(values), picture)
    assert frame.facts(values) == {"canvas": [64, 64], "resized": "no"}


def test_deep_pictures_are_scaled_to_what_the_model_sees():
    picture = np.full((64, 64, 3), 4095, np.uint16)
    frame = frame_for(picture, 64, 8, "aspect")
    assert np.asarray(frame.to_model(picture, 4095)).min() == 255
    assert np.asarray(frame.to_model(picture, 65535)).max() == 16
    assert frame.facts(np.zeros((64, 64, 3)))["depth"] == "8 of 16 bits"


def test_a_model_that_answers_in_another_size_is_recorded():
    frame = frame_for(draw(5, 64, 64), 64, 8, "aspect")
    values = np.zeros((32, 48, 3))
    assert frame.from_model(values).shape == (64, 64, 3)
    assert frame.facts(values)["returned"] == [48, 32]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.full((8, 8, 3), np.nan), "NaN"),
        (np.full((8, 8, 3), np.inf), "NaN"),
        (np.zeros((8, 8, 4)), r"shape \(8, 8, 4\)"),
    ],
)
def test_what_is_no_picture_is_refused(values, words):
    with pytest.raises(Refused, match=words):
        frame_for(draw(5, 64, 64), 64, 8, "aspect").from_model(values)


def test_maps_come_back_with_the_picture():
    frame = frame_for(draw(5, 61, 97), 64, 8, "aspect")
    width, height = frame.canvas
    values = np.linspace(0, 1, width, dtype=np.float32)[None].repeat(height, 0)
    back = frame.map_back(values)
    assert back.shape == (61, 97) and back[30, 96] > 0.9 > 0.1 > back[30, 0]
