"""An answer of another size than the case's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from medebench.systems.request import Refused
from medebench.systems.returned_output import fit_answer


def slope(width: int, height: int, kind: type[Any] = np.uint8) -> Any:
    """A smooth picture, the same scene at any size."""
    top = np.iinfo(kind).max
    across = (np.arange(width) + 0.5) / width
    down = (np.arange(height) + 0.5) / height
    planes = [
        np.broadcast_to(across, (height, width)),
        np.broadcast_to(down[:, None], (height, width)),
        across * down[:, None],
    ]
    return np.round(np.stack(planes, axis=-1) * top).astype(kind)


def test_an_answer_of_the_right_size_is_returned_as_it_is() -> None:
    picture = slope(40, 30)
    fitted, detail = fit_answer(picture, 40, 30)
    assert fitted is picture
    assert detail == {}


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("size", [(80, 60), (160, 120), (20, 15)])
def test_the_same_scene_in_another_resolution_is_brought_to_the_case(
    kind: type[Any], size: tuple[int, int]
) -> None:
    fitted, detail = fit_answer(slope(*size, kind), 40, 30)
    assert (fitted.dtype, fitted.shape) == (kind, (30, 40, 3))
    assert detail == {"returned": list(size)}
    own = slope(40, 30, kind)
    inner = np.s_[3:-3, 3:-3]
    away = np.abs(fitted[inner].astype(float) - own[inner].astype(float)).max()
    assert away < 0.02 * np.iinfo(kind).max


def test_sixteen_bits_stay_sixteen_bits() -> None:
    fitted, _ = fit_answer(slope(200, 200, np.uint16), 100, 100)
    assert len(np.unique(fitted)) > 256


def test_a_sharp_edge_does_not_wrap_around() -> None:
    picture = np.zeros((64, 64, 3), np.uint16)
    picture[:, 32:] = 65535
    fitted, _ = fit_answer(picture, 96, 96)
    assert (fitted[:, :40] < 20000).all()
    assert (fitted[:, 56:] > 45000).all()


@pytest.mark.parametrize("width", [502, 510, 512, 522])
def test_two_per_cent_of_aspect_are_forgiven(width: int) -> None:
    fitted, _ = fit_answer(slope(width, 512), 256, 256)
    assert fitted.shape == (256, 256, 3)


@pytest.mark.parametrize(("width", "height"), [(300, 200), (200, 300), (523, 512), (512, 523)])
def test_another_shape_is_a_reason(width: int, height: int) -> None:
    with pytest.raises(
        Refused, match=f"^returned {width} x {height} for a picture of 512 x 512$"
    ) as caught:
        fit_answer(slope(width, height), 512, 512)
    assert caught.value.detail == {"returned": [width, height]}


def test_the_tolerance_can_be_set() -> None:
    assert fit_answer(slope(120, 100), 100, 100, tolerance=0.25)[0].shape == (100, 100, 3)
    with pytest.raises(Refused):
        fit_answer(slope(501, 500), 500, 500, tolerance=0.0)
