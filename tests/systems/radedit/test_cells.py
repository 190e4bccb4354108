"""Masks on a model's cells, against plain loops and scikit-image."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from medebench.systems.radedit.mask_sources import to_cells

sides = st.integers(1, 9)
masks = st.tuples(sides, sides).flatmap(lambda shape: arrays(bool, shape))


def shares(mask, cells):
    """Covered area of each cell in exact fractions."""
    (height, width), (rows, columns) = mask.shape, cells
    found = {}
    for i in range(rows):
        for j in range(columns):
            total = Fraction(0)
            for y, x in zip(*np.nonzero(mask), strict=True):
                high = min(Fraction(int(y) + 1, height), Fraction(i + 1, rows))
                wide = min(Fraction(int(x) + 1, width), Fraction(j + 1, columns))
                high -= max(Fraction(int(y), height), Fraction(i, rows))
                wide -= max(Fraction(int(x), width), Fraction(j, columns))
                total += max(high, 0) * max(wide, 0) * rows * columns
            found[i, j] = total
    return found


@given(masks, st.tuples(st.integers(1, 5), st.integers(1, 5)))
@settings(deadline=None, max_examples=25)
def test_any_share_of_a_cell_counts(mask, cells):
    found = to_cells(mask, cells)
    assert found.shape == cells and found.dtype == bool
    assert all(found[place] == (share > 0) for place, share in shares(mask, cells).items())


def test_as_scikit_image_where_cells_are_whole_pixels():
    measure = pytest.importorskip("skimage.measure")
    mask = np.random.default_rng(0).random((64, 96)) < 0.05
    assert np.array_equal(to_cells(mask, (8, 12)), measure.block_reduce(mask, (8, 8), np.max))


@given(st.integers(40, 500), st.integers(2, 64), st.data())
@settings(deadline=None, max_examples=25)
def test_a_thin_line_survives(side, cells, data):
    """Two pixels wide, anywhere: each row of cells has it."""
    at = data.draw(st.integers(0, side - 2))
    mask = np.zeros((side, side), bool)
    mask[:, at : at + 2] = True
    found = to_cells(mask, (cells, cells))
    assert found.any(axis=1).all()
    assert found[:, at * cells // side].all()


@given(masks)
@settings(deadline=None, max_examples=25)
def test_its_own_grid_and_a_finer_one(mask):
    assert np.array_equal(to_cells(mask, mask.shape), mask)
    finer = to_cells(mask, (2 * mask.shape[0], 3 * mask.shape[1]))
    assert np.array_equal(finer, np.repeat(np.repeat(mask, 2, 0), 3, 1))
