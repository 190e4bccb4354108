"""Every kind of file becomes three channels with a known range, or one clear line."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from medebench.errors import ImageError
from medebench.images.picture import (
    data_range,
    encode_png,
    match,
    read_mask,
    read_picture,
    resize,
)
from tests.conftest import draw


@pytest.fixture
def rgb():
    return draw(5, 20, 30)


def _save(tmp_path: Path, image: Image.Image, name: str = "x.png", **options) -> Path:
    image.save(tmp_path / name, **options)
    return tmp_path / name


def test_rgb_is_read_as_it_is(tmp_path, rgb):
    assert (read_picture(_save(tmp_path, Image.fromarray(rgb))) == rgb).all()


def test_grey_is_spread_over_three_channels(tmp_path, rgb):
    found = read_picture(_save(tmp_path, Image.fromarray(rgb[..., 0])))
    assert found.shape == (20, 30, 3) and (found == rgb[..., :1]).all()


def test_alpha_is_dropped_as_the_published_scripts_do(tmp_path, rgb):
    alpha = np.concatenate([rgb, np.full((20, 30, 1), 7, np.uint8)], axis=2)
    assert (read_picture(_save(tmp_path, Image.fromarray(alpha))) == rgb).all()


def test_palette_with_transparency(tmp_path):
    image = Image.new("P", (8, 8), 1)
    image.putpalette([0, 0, 0, 200, 100, 50])
    found = read_picture(_save(tmp_path, image, transparency=0))
    assert (found == (200, 100, 50)).all()


def test_cmyk_jpeg(tmp_path):
    path = _save(tmp_path, Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "x.jpg", quality=95)
    red, green, blue = read_picture(path).reshape(-1, 3).mean(axis=0)
    assert red > 200 and green < 60 and blue < 60


def test_exif_rotation_is_applied(tmp_path, rgb):
    exif = Image.Exif()
    exif[0x0112] = 6
    found = read_picture(_save(tmp_path, Image.fromarray(rgb), exif=exif))
    assert (found == np.rot90(rgb, -1)).all()


def test_sixteen_bit_grey_keeps_its_depth(tmp_path):
    deep = np.arange(600, dtype=np.uint16).reshape(20, 30) * 100
    found = read_picture(_save(tmp_path, Image.fromarray(deep)))
    assert found.dtype == np.uint16 and (found == deep[..., None]).all()
    assert data_range(found) == 65535 and data_range(found, 12) == 4095


def test_sixteen_bit_colour_is_not_cut_to_eight(tmp_path):
    deep = np.random.default_rng(0).integers(0, 65536, (20, 30, 3), dtype=np.uint16)
    cv2.imwrite(str(tmp_path / "x.png"), deep[..., ::-1])
    assert (read_picture(tmp_path / "x.png") == deep).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_encoding_and_reading_is_lossless(tmp_path, dtype):
    picture = np.random.default_rng(1).integers(0, 256, (20, 30, 3)).astype(dtype) * dtype(1)
    (tmp_path / "x.png").write_bytes(encode_png(picture))
    found = read_picture(tmp_path / "x.png")
    assert found.dtype == dtype and (found == picture).all()


def test_eight_bit_output_against_twelve_bit_input():
    deep = np.full((4, 4, 3), 4095, np.uint16)
    white = np.full((4, 4, 3), 255, np.uint8)
    assert (match(white, deep, bits=12) == 4095).all()
    assert (match(white, deep) == 65535).all()


def test_resize_is_pillows_bicubic(rgb):
    expected = np.asarray(Image.fromarray(rgb).resize((17, 11), Image.Resampling.BICUBIC))
    assert (resize(rgb, 17, 11) == expected).all()
    deep = resize(rgb.astype(np.uint16) * 257, 17, 11)
    assert np.abs(deep / 257 - expected).max() < 1.0


def _png_of(header: bytes, rows: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    data = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


def _header_only(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds next to nothing."""
    return _png_of(struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0), b"\0" * 10)


@pytest.mark.parametrize("size", [(50_000, 50_000), (9_000, 9_000)])
def test_oversized_is_refused_before_decoding(tmp_path, size):
    path = tmp_path / "huge.png"
    path.write_bytes(_header_only(*size))
    with pytest.raises(ImageError, match="MEDEBENCH_MAX_PIXELS"):
        read_picture(path)
    with pytest.raises(ImageError, match="MEDEBENCH_MAX_PIXELS"):
        read_mask(path)


def test_truncated_at_every_length_is_one_line(tmp_path, rgb):
    stream = io.BytesIO()
    Image.fromarray(rgb).save(stream, "PNG")
    whole = stream.getvalue()
    path = tmp_path / "cut.png"
    # The last chunk holds no pixel: a file cut there is whole for our purposes.
    for length in range(0, len(whole) - 24, 37):
        path.write_bytes(whole[:length])
        with pytest.raises(ImageError) as caught:
            read_picture(path)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"hello", b"\x89PNG\r\n\x1a\n", b"GIF89a" + b"\0" * 30])
def test_no_image_is_one_line(tmp_path, data):
    (tmp_path / "x.png").write_bytes(data)
    with pytest.raises(ImageError):
        read_picture(tmp_path / "x.png")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(ImageError, match="no such file"):
        read_picture(tmp_path / "none.png")
    with pytest.raises(ImageError, match="cannot be read"):
        read_picture(tmp_path)


def test_float_pixels_are_refused(tmp_path):
    path = _save(tmp_path, Image.fromarray(np.full((8, 8), np.nan, np.float32)), "x.tiff")
    with pytest.raises(ImageError, match="floating-point"):
        read_picture(path)


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([0, 255], np.uint8, [0, 255]),
        ([0, 1], np.uint8, [0, 255]),
        ([0, 65535], np.uint16, [0, 255]),
        ([0, 255], np.uint16, [0, 255]),
        ([0, 90], np.uint8, [0, 90]),
    ],
)
def test_masks_of_all_kinds(tmp_path, values, dtype, expected):
    plane = np.repeat(np.array(values, dtype), 8).reshape(2, 8)
    found = read_mask(_save(tmp_path, Image.fromarray(plane)))
    assert sorted(set(found.ravel().tolist())) == expected


def test_rgb_mask(tmp_path):
    plane = np.zeros((8, 8, 3), np.uint8)
    plane[:4] = 255
    assert (read_mask(_save(tmp_path, Image.fromarray(plane))) > 127).sum() == 32


def test_sixteen_bit_grey_with_alpha_and_colour_tiff_keep_their_depth(tmp_path):
    deep = np.random.default_rng(2).integers(0, 65536, (9, 12, 3), dtype=np.uint16)
    cv2.imwrite(str(tmp_path / "x.tiff"), deep[..., ::-1])
    assert (read_picture(tmp_path / "x.tiff") == deep).all()
    rows = np.random.default_rng(3).integers(0, 65536, (9, 12, 2)).astype(">u2")
    packed = b"".join(b"\0" + row.tobytes() for row in rows)
    path = tmp_path / "la.png"
    header = struct.pack(">IIBBBBB", 12, 9, 16, 4, 0, 0, 0)
    path.write_bytes(_png_of(header, packed))
    assert (read_picture(path) == rows[..., :1]).all()


def test_values_above_the_stated_bits_do_not_wrap_around():
    deep = np.full((4, 4, 3), 5000, np.uint16)
    assert (match(deep, np.zeros((4, 4, 3), np.uint8), bits=12) == 255).all()


def test_the_limit_can_be_raised_and_must_be_a_number(tmp_path, monkeypatch):
    from medebench.errors import InputError

    path = _save(tmp_path, Image.new("RGB", (30, 30)))
    monkeypatch.setenv("MEDEBENCH_MAX_PIXELS", "899")
    with pytest.raises(ImageError, match="30 x 30 is more than 899"):
        read_picture(path)
    monkeypatch.setenv("MEDEBENCH_MAX_PIXELS", "many")
    with pytest.raises(InputError, match="expected a whole number"):
        read_picture(path)
