"""Plain filters: each brings a spoilt picture nearer to what it was, and sizes are as asked."""

from __future__ import annotations

import numpy as np
import pytest

from medebench.cases import Case, OpenCase
from medebench.metrics.pixel import psnr
from medebench.phantoms.medgen.edit_tasks import EDITS
from medebench.systems import Request, find_system
from medebench.systems.filter_restorer import restored, stretched, without_lines, without_noise

SPOILT = ("noise-reconstruction", "contrast-enhancement")


@pytest.mark.parametrize("task", SPOILT)
def test_restoring_gains(task):
    gained = []
    for number in range(6):
        record = EDITS[task](8, number)
        before, wanted = record.pictures["previous"], record.pictures["reference"]
        made = restored(before, record.prompt)
        gained.append(psnr(made, wanted) - psnr(before, wanted))
    # Not every drawing uses all greys: stretching one that does not goes too far.
    assert sum(one > 0 for one in gained) >= 5 and np.mean(gained) > 2


@pytest.mark.parametrize("number", [0, 1])
def test_lines_and_stripes_go(number):
    record = EDITS["artifact-removal"](8, number)
    before, wanted = record.pictures["previous"], record.pictures["reference"]
    assert psnr(restored(before, record.prompt), wanted) > psnr(before, wanted) + 6
    clean = without_lines(wanted)
    assert clean is wanted or psnr(clean, wanted) > 30


def test_enlarging_follows_the_factor_in_words():
    small = np.zeros((20, 30, 3), np.uint8)
    assert restored(small, "Raise the resolution 4 times.").shape == (80, 120, 3)
    assert restored(small, "Upscale: resolution x2").shape == (40, 60, 3)
    assert restored(small, "Raise the resolution 9 times.").shape == (160, 240, 3)
    assert restored(small, "Turn it blue.") is None


def test_depth_is_kept():
    deep = (np.arange(64 * 64 * 3).reshape(64, 64, 3) * 5).astype(np.uint16)
    for filter_ in (stretched, without_lines, lambda one: without_noise(one, single=True)):
        assert filter_(deep).dtype == np.uint16 and filter_(deep).shape == deep.shape
    assert without_noise(deep).dtype == np.uint16


def test_flat_pictures_stay():
    flat = np.full((32, 32, 3), 90, np.uint8)
    for words in ("noise", "salt noise", "artifact"):
        assert (restored(flat, words) == flat).all()
    assert stretched(flat).shape == flat.shape


def test_what_it_has_no_filter_for_stays_and_is_said(tmp_path):
    path = tmp_path / "a.png"
    from PIL import Image

    Image.fromarray(np.full((16, 16, 3), 9, np.uint8)).save(path)
    made = find_system("filter-restorer").system.edit(
        Request(OpenCase(Case("1", path, "Write a label.")), 0, 0)
    )
    assert (made.image == 9).all() and made.detail["filter"].startswith("none")
