"""One picture made plain: the bytes to write, and what was done to it (nothing: the same bytes)."""

from __future__ import annotations

import numpy as np

from medebench.audit.file_facts import FileFacts
from medebench.audit.privacy import is_plain_png
from medebench.images.picture import (
    encode_png,
    read_mask,
    read_picture,
    resize,
    resize_mask,
)


def repaired_picture(
    facts: FileFacts, data: bytes, size: tuple[int, int]
) -> tuple[bytes, tuple[str, ...]]:
    done = _storage_repairs(facts, data)
    deep_alpha = facts.sixteen_bit and data[25:26] in (b"\x04", b"\x06")
    if deep_alpha or (not facts.sixteen_bit and facts.mode not in ("RGB", "L")):
        done.append("converted to RGB")
    if facts.size != size:
        done.append(f"resized to {size[0]} x {size[1]}")
    if not done:
        return data, ()
    picture = read_picture(facts.path, data)
    return encode_png(picture if facts.size == size else resize(picture, *size)), tuple(done)


def repaired_mask(
    facts: FileFacts, data: bytes, size: tuple[int, int]
) -> tuple[bytes, tuple[str, ...]]:
    """As for a picture; no bytes at all where the region is empty."""
    region = facts.region
    if region is None or region.share == 0:
        return b"", ()
    done = _storage_repairs(facts, data)
    if facts.mode != "L":
        done.append("made one channel")
    if region.greys or region.zero_one:
        done.append("made 0 and 255")
    if facts.size != size:
        done.append(f"resized to {size[0]} x {size[1]}")
    if not done:
        return data, ()
    inside = resize_mask(read_mask(facts.path, data), *size) > 127
    if not inside.any():
        return b"", ()
    return encode_png(np.where(inside, 255, 0).astype(np.uint8)), tuple(done)


def _storage_repairs(facts: FileFacts, data: bytes) -> list[str]:
    png = facts.format == "PNG"
    checks = {
        "saved as PNG": not png,
        "metadata stripped": not is_plain_png(data) if png else bool(facts.personal),
        "turned upright": facts.rotated,
        "transparency dropped": facts.transparent,
        "first frame kept": facts.frames > 1,
    }
    return [what for what, needed in checks.items() if needed]
