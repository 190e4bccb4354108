"""The fast PNG reader gives Pillow's pixels, or leaves the file to Pillow."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from medebench.images.png import read_plain_png


def _chunk(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def _png(rows: bytes, width: int, height: int, colour: int, extra: bytes = b"", parts: int = 1):
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    packed = zlib.compress(rows)
    step = max(1, len(packed) // parts)
    idat = [_chunk(b"IDAT", packed[i : i + step]) for i in range(0, len(packed), step)]
    data = _chunk(b"IHDR", header) + extra + b"".join(idat) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


def _pillow(data: bytes) -> np.ndarray:
    found = np.asarray(Image.open(io.BytesIO(data)))
    return found if found.ndim == 3 else found[..., None]


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.integers(1, 20),
    height=st.integers(1, 12),
    colour=st.sampled_from([0, 2]),
    parts=st.integers(1, 4),
)
def test_all_row_filters_equal_pillow(seed, width, height, colour, parts):
    """Random bytes behind random filter types: every filter, every wrap-around."""
    generator = np.random.default_rng(seed)
    stride = width * (1 if colour == 0 else 3)
    rows = generator.integers(0, 256, (height, stride + 1), dtype=np.uint8)
    rows[:, 0] = generator.integers(0, 5, height)
    data = _png(rows.tobytes(), width, height, colour, parts=parts)
    assert (read_plain_png(data) == _pillow(data)).all()


def test_excerpt_equals_pillow(excerpt):
    files = sorted(excerpt.rglob("*.png"))
    read = [(read_plain_png(data), data) for data in (path.read_bytes() for path in files)]
    plain = [(ours, data) for ours, data in read if ours is not None]
    assert len(plain) > 0.9 * len(files)
    assert all((ours == _pillow(data)).all() for ours, data in plain)


ROWS = np.zeros((4, 13), np.uint8).tobytes()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89PNG\r\n\x1a\n",
        _png(ROWS, 4, 4, 2)[:-30],
        _png(ROWS[:-1], 4, 4, 2),
        _png(ROWS, 4, 4, 6),
        _png(ROWS, 0, 4, 2),
        _png(b"\x09" + ROWS[1:], 4, 4, 2),
        _png(ROWS, 4, 4, 2, extra=_chunk(b"eXIf", b"MM\0*")),
        _png(ROWS, 4, 4, 2, extra=_chunk(b"acTL", b"\0" * 8)),
        _png(ROWS, 4, 4, 2).replace(b"IDAT", b"JDAT"),
    ],
)
def test_anything_odd_is_left_to_pillow(data):
    assert read_plain_png(data) is None


def test_a_bomb_unpacks_to_no_more_than_its_header_says():
    bomb = _png(b"\0" * 50_000_000, 4, 4, 2)
    assert len(bomb) < 60_000
    found = read_plain_png(bomb)
    assert found is not None and found.nbytes == 48
