"""The measures behind the findings: hash, alignment, windows, words, metadata."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from medebench.audit import alignment
from medebench.audit.file_facts import free_windows, gather
from medebench.audit.likeness import MAX_BITS, alike, hamming, perceptual_hash
from medebench.audit.privacy import is_plain_png, personal_kinds
from medebench.audit.text_checks import words
from medebench.images.picture import encode_png
from tests.audit.drafts import scene, with_chunk

# --- hash -----------------------------------------------------------------------------------


def hash_of(image: Image.Image, how: str = "PNG", **options: int) -> int:
    stream = io.BytesIO()
    image.save(stream, how, **options)
    look = gather(Path("x.png"), False, stream.getvalue()).facts.look
    assert look is not None and look.hash is not None
    return look.hash


@pytest.mark.parametrize("seed", range(8))
def test_the_hash_survives_rescaling_and_jpeg(seed: int) -> None:
    image = Image.fromarray(scene(seed, (256, 200)))
    original = hash_of(image)
    for size in ((128, 100), (512, 400), (300, 180)):
        assert hamming(original, hash_of(image.resize(size))) <= MAX_BITS
    assert hamming(original, hash_of(image, "JPEG", quality=40)) <= MAX_BITS
    assert hamming(original, hash_of(image.point(lambda value: 0.9 * value + 8))) <= MAX_BITS


def test_the_hashes_of_different_pictures_differ() -> None:
    hashes = [hash_of(Image.fromarray(scene(seed))) for seed in range(20)]
    distances = [hamming(a, b) for i, a in enumerate(hashes) for b in hashes[:i]]
    assert min(distances) > 2 * MAX_BITS


def test_a_flat_picture_has_no_hash() -> None:
    assert perceptual_hash(np.full((32, 32), 77, np.uint8)) is None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_banding_finds_what_comparing_all_pairs_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 2**63, 6, dtype=np.uint64).repeat(5)
    for at in range(len(hashes)):
        for bit in rng.integers(0, 63, rng.integers(0, 6)):
            hashes[at] ^= np.uint64(1) << np.uint64(bit)
    thumb = rng.integers(0, 256, (32, 32), dtype=np.uint8)
    found = alike(hashes, np.repeat(thumb[None], len(hashes), axis=0))
    wanted = {
        (i, j)
        for j in range(len(hashes))
        for i in range(j)
        if hamming(int(hashes[i]), int(hashes[j])) <= MAX_BITS
    }
    assert sorted(tuple(sorted(pair)) for pair in found.tolist()) == sorted(wanted)


def test_thumbnails_must_agree_in_detail_too() -> None:
    y, x = np.mgrid[:32, :32] / 31
    coarse = 40 + 90 * x + 80 * y
    rng = np.random.default_rng(0)
    noisy = [np.clip(coarse + rng.normal(0, 5, (32, 32)), 0, 255) for _ in range(2)]
    thumbs = np.stack(noisy).astype(np.uint8)
    assert np.corrcoef(thumbs.reshape(2, -1))[0, 1] > 0.96
    assert len(alike(np.array([5, 5], np.uint64), thumbs)) == 0


# --- alignment ------------------------------------------------------------------------------


def view(seed: int, shift: tuple[int, int] = (0, 0)) -> np.ndarray:
    """A 64 x 64 window of a larger scene; `shift` moves what it shows right and down."""
    large = cv2.cvtColor(scene(seed, (128, 128)), cv2.COLOR_RGB2GRAY)
    top, left = 32 - shift[1], 32 - shift[0]
    return np.ascontiguousarray(large[top : top + 64, left : left + 64])


def outside() -> np.ndarray:
    free = np.ones((64, 64), np.bool_)
    free[24:40, 24:40] = False
    return free


def test_a_pair_in_place_is_fine_whatever_the_light_and_the_region() -> None:
    reference = (0.7 * view(1) + 30 + np.linspace(0, 40, 64)).astype(np.uint8)
    reference[24:40, 24:40] = 255 - reference[24:40, 24:40]
    found = alignment.compare(view(1), reference, outside())
    assert found is not None and found.here > 0.9 and not found.displaced


@pytest.mark.parametrize("shift", [(8, 0), (0, -9), (-10, 6)])
def test_a_displaced_pair_is_found_with_its_offset(shift: tuple[int, int]) -> None:
    found = alignment.compare(view(2), view(2, shift), outside())
    assert found is not None and found.displaced
    assert found.shift == pytest.approx((shift[0] / 64, shift[1] / 64), abs=1.5 / 64)


@pytest.mark.parametrize("shift", [(1, 0), (0, 2), (-1, 1)])
def test_a_small_shift_is_not_displaced(shift: tuple[int, int]) -> None:
    found = alignment.compare(view(3), view(3, shift), outside())
    assert found is not None and not found.displaced and found.here > alignment.UNRELATED


def test_other_pictures_have_nothing_in_common() -> None:
    found = [alignment.compare(view(seed), view(seed + 50), outside()) for seed in range(10)]
    assert sum(one is not None and one.here < alignment.UNRELATED for one in found) >= 9


def test_nothing_is_said_where_little_is_left_or_all_is_flat() -> None:
    assert alignment.compare(view(1), view(9), np.zeros((64, 64), np.bool_)) is None
    noise = np.random.default_rng(0).normal(128, 2, (2, 64, 64)).astype(np.uint8)
    assert alignment.compare(noise[0], noise[1], None) is None


def test_fft_agrees_with_the_plain_sum() -> None:
    first, second = view(4).astype(np.float32), view(5).astype(np.float32)
    free = outside().astype(np.float32)
    found = alignment._shifted_correlations(first, second, free)
    reach = alignment.REACH
    for dx, dy in ((0, 0), (5, 0), (-3, 7), (10, -10)):
        rows, columns = np.mgrid[:64, :64]
        inside = (rows + dy >= 0) & (rows + dy < 64) & (columns + dx >= 0) & (columns + dx < 64)
        moved = np.roll(free, (-dy, -dx), (0, 1))
        both = inside & (free > 0) & (moved > 0)
        a, b = first[both], np.roll(second, (-dy, -dx), (0, 1))[both]
        assert found[reach + dy, reach + dx] == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-3)


# --- windows, words, metadata ---------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 20))
def test_free_windows_counts_windows(seed: int, height: int, width: int) -> None:
    inside = np.random.default_rng(seed).random((height, width)) < 0.01
    windows = [
        not inside[y : y + 7, x : x + 7].any() for y in range(height - 6) for x in range(width - 6)
    ]
    assert free_windows(inside) == pytest.approx(np.mean(windows) if windows else 0.0)


def test_words_ignore_case_punctuation_and_encoding() -> None:
    assert words("Remove the MOLE!") == words(" remove, the mole ")
    assert words("e\u0301tude") == words("étude")
    assert len(words("除去してください")) == 8
    assert words("… – ?") == []


def kinds(data: bytes) -> tuple[str, ...]:
    with Image.open(io.BytesIO(data)) as header:
        return personal_kinds(data, header)


def saved(how: str, **options: object) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(scene(1)).save(stream, how, **options)
    return stream.getvalue()


def exif(**blocks: dict[int, object]) -> Image.Exif:
    value = Image.Exif()
    value.update(blocks.get("main", {}))
    for name, place in (("camera", 0x8769), ("gps", 0x8825)):
        value.get_ifd(place).update(blocks.get(name, {}))
    return value


@pytest.mark.parametrize("how", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_exif_in_every_format(how: str) -> None:
    block = exif(main={315: "Jane"}, camera={36867: "2020:01:01 00:00:00"}, gps={1: "N"})
    assert kinds(saved(how, exif=block.tobytes())) == ("GPS position", "author", "time")
    assert kinds(saved(how)) == ()


def test_embedded_thumbnail() -> None:
    entries = struct.pack("<HHII", 513, 4, 1, 44) + struct.pack("<HHII", 514, 4, 1, 4)
    first = struct.pack("<HI", 0, 14)
    second = struct.pack("<H", 2) + entries + struct.pack("<I", 0)
    block = b"Exif\0\0II*\0" + struct.pack("<I", 8) + first + second + b"jpeg"
    assert kinds(saved("JPEG", exif=block)) == ("embedded thumbnail",)


def test_serial_number_and_comment() -> None:
    block = exif(camera={42033: "0815"})
    assert kinds(saved("JPEG", exif=block, comment=b"ward 3")) == (
        "camera serial number",
        "comment",
    )


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("name", "body", "kind"),
    [
        (b"tEXt", b"Comment\0ward 3", ("PNG text",)),
        (b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0<x/>", ("XMP",)),
        (b"tIME", b"\x07\xe4\1\1\0\0\0", ("time",)),
        (b"tEXt", b"Software\0drawing program", ()),
        (b"eXIf", b"rubbish", ("EXIF that cannot be read",)),
    ],
)
def test_png_chunks(name: bytes, body: bytes, kind: tuple[str, ...], last: bool) -> None:
    data = with_chunk(encode_png(scene(1)), name, body, last)
    assert kinds(data) == kind
    assert not is_plain_png(data)


def test_a_plain_png_is_plain() -> None:
    data = encode_png(scene(1))
    assert is_plain_png(data)
    assert not is_plain_png(data + b"hidden")
    assert not is_plain_png(saved("JPEG"))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["PNG", "JPEG", "WEBP", "BMP"]),
    st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), min_size=1, max_size=4),
    st.booleans(),
)
@pytest.mark.filterwarnings("ignore")
def test_a_damaged_file_is_a_fact_and_not_a_crash(
    how: str, changes: list[tuple[float, int]], mask: bool
) -> None:
    data = bytearray(saved(how))
    for place, value in changes:
        data[int(place**3 * len(data))] = value
    facts = gather(Path(__file__), mask, bytes(data)).facts
    assert (facts.flaw is None) == (facts.size != (0, 0))
