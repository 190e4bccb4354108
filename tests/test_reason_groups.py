"""Reasons put together: by kind and cause, with counts and ranges, whatever their words are."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import medebench as mb
from medebench.errors import ImageError
from medebench.images.picture import read_picture
from medebench.reason import KINDS, Reason, reason_of
from medebench.reason_groups import cause_of, group_reasons, reasons_in_words
from tests.conftest import draw


def test_the_summary_of_a_set_with_broken_outputs():
    told = Counter({f"no output: /a b/out/{n}_0.png: empty file": 1 for n in range(59)})
    told |= {
        f"no output: /a b/out/x{n}.png: not an image (PNG, JPEG are read)": 1 for n in range(60)
    }
    cut = "damaged or truncated image (image file is truncated"
    told |= {f"no output: out/c{n}.png: {cut} ({n} bytes not processed))": 1 for n in range(59)}
    other = "the reference is another photograph: around the ROI it differs by"
    told |= {f"{other} {10 + n}": 5 for n in range(58)}
    assert reasons_in_words(group_reasons(told.items())) == (
        "60 not an image, 59 cut off, 59 empty; 290 another photograph, difference 10 to 67"
    )


@pytest.mark.parametrize("form", ["PNG", "JPEG", "TIFF", "BMP"])
def test_files_that_are_really_broken(form):
    stream = io.BytesIO()
    Image.fromarray(draw(1)).save(stream, form)
    found = []
    for size in (0, 5, len(stream.getvalue()) - 60, len(stream.getvalue()) - 40):
        with pytest.raises(ImageError) as raised:
            read_picture(Path("o/1_0.png"), stream.getvalue()[:size])
        found.append(cause_of(reason_of(raised.value)))
    assert found[0] == "empty-file" and found[1] in ("not-an-image", "cut-off", "damaged-file")
    assert found[2:] == ["cut-off", "cut-off"]


def test_metrics_that_are_really_undefined():
    first, second = draw(1), draw(2)
    roi = first[..., 0] > -1
    part = roi & (np.arange(64) < 30)
    found = {}
    for name, call in {
        "roi-too-large": lambda: mb.cp(first, second, roi),
        "same-reference": lambda: mb.edit_residual(first, second, first, roi),
        "other-photograph": lambda: mb.edit_residual(first, first, second, part),
        "roi-empty": lambda: mb.edit_residual(first, first, second, ~roi),
    }.items():
        with pytest.raises(mb.Undefined) as raised:
            call()
        found[name] = cause_of(str(raised.value))
    assert found == {name: name for name in found}


def test_kinds_stay_apart_and_failures_come_first():
    told = [
        (Reason("undefined", "the map is empty"), 9),
        (Reason("error", "failed: HTTP 500: out of memory (attempts: 6)"), 1),
        (Reason("error", "failed: HTTP 503: out of memory (attempts: 2)"), 1),
        (Reason("error", "failed: HTTP 500: out of memory (attempts: 3)"), 1),
        (Reason("refused", "no word 'mole' for 2 k-spaces"), 1),
        (Reason("refused", "no word 'nevus' for 2 k-spaces"), 1),
    ]
    assert reasons_in_words(group_reasons(told)) == (
        "2 failed: HTTP 500: out of memory (attempts: 3 to 6), "
        "1 failed: HTTP 503: out of memory (attempts: 2); "
        "2 no word '…' for 2 k-spaces; 9 the map is empty"
    )
    assert reasons_in_words(group_reasons(told), most=1).endswith("; 12 for 3 other reasons")


@given(st.lists(st.tuples(st.text(max_size=60), st.integers(1, 9)), max_size=9))
def test_no_words_break_it_and_nothing_is_lost(told):
    groups = group_reasons(told)
    assert sum(one.count for one in groups) == sum(count for _, count in told)
    assert all(one.kind in KINDS for one in groups)
    assert len(reasons_in_words(groups)) < 10_000


@given(st.text("0123456789,.'{}% ab:", max_size=40))
def test_a_single_reason_is_told_as_it_is(words):
    [group] = group_reasons([(words, 1)])
    assert group.words == words
