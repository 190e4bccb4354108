"""Pictures as models get them."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image as Pillow

from medebench.errors import InputError
from medebench.models import encode_for_model
from tests.conftest import draw


def decoded(image):
    with Pillow.open(io.BytesIO(image.data)) as opened:
        return np.asarray(opened.convert("RGB")), opened.format, dict(opened.info)


def test_small_pictures_stay_as_they_are():
    picture = draw(1)
    pixels, form, info = decoded(encode_for_model(picture))
    assert form == "PNG" and info == {}
    assert np.array_equal(pixels, picture)


@pytest.mark.parametrize(("shape", "size"), [((1000, 500), (384, 768)), ((300, 3000), (768, 77))])
def test_large_pictures_are_shrunk_in_proportion(shape, size):
    image = encode_for_model(draw(2, *shape))
    assert image.size == size


def test_sixteen_bits_become_eight():
    ramp = np.repeat(np.arange(0, 65536, 257, dtype=np.uint16).reshape(16, 16, 1), 3, axis=2)
    pixels, _, _ = decoded(encode_for_model(ramp))
    assert np.array_equal(pixels[..., 0].ravel(), np.arange(256))
    twelve, _, _ = decoded(encode_for_model(ramp // 16, bits=12))
    assert np.abs(twelve.astype(int) - pixels).max() <= 1


def test_grey_pictures_without_channels():
    pixels, _, _ = decoded(encode_for_model(draw(3)[..., 0]))
    assert np.array_equal(pixels[..., 0], pixels[..., 2])


def test_the_same_pixels_give_the_same_bytes():
    one, other = (encode_for_model(draw(5, 900, 800)) for _ in range(2))
    assert one.data == other.data and one.sha256 == other.sha256


def test_wrong_calls():
    with pytest.raises(InputError):
        encode_for_model(draw(1), max_side=0)
