"""Small sets in the MedEBench layout, clean until a test spoils them (no tests in here)."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from medebench.cases.caseset import CaseSet
from medebench.cases.readers import medebench_release

SIZE = (96, 80)

TEXTS = [
    ("Remove the mole on the left cheek.", "Take the mole off the left cheek."),
    ("Straighten the bent little finger.", "Make the crooked little finger straight."),
    ("Close the gap between the front teeth.", "Fill the space in the front teeth."),
    ("Réduire l’œdème de la paupière gauche.", "左の眼瞼の腫れを取り除いてください。"),
]


def scene(seed: int, size: tuple[int, int] = SIZE) -> np.ndarray:
    """A smooth, textured picture; another seed is quite another picture."""
    rng = np.random.default_rng(seed)
    width, height = size
    layers = [
        np.asarray(
            Image.fromarray(rng.integers(0, 256, (cells, cells, 3), dtype=np.uint8)).resize(
                (width, height), Image.Resampling.BICUBIC
            ),
            dtype=float,
        )
        for cells in (5, 12)
    ]
    return np.clip(0.6 * layers[0] + 0.4 * layers[1], 0, 255).astype(np.uint8)


def region(number: int, size: tuple[int, int] = SIZE) -> np.ndarray:
    y, x = np.mgrid[: size[1], : size[0]]
    centre = (20 + 15 * number, 30 + 5 * number)
    inside = (x - centre[0]) ** 2 + (y - centre[1]) ** 2 < 12**2
    return np.where(inside, 255, 0).astype(np.uint8)


class Draft:
    """A set on disk that can be changed before it is read."""

    def __init__(self, root: Path, count: int = 4) -> None:
        self.root = root
        self.records: list[dict[str, Any]] = []
        for number in range(count):
            case_id = number + 1
            previous, mask = scene(case_id), region(number)
            reference = previous.copy()
            reference[mask > 127] = 255 - reference[mask > 127]
            self.save(case_id, "previous", previous)
            self.save(case_id, "changed", reference)
            self.save(case_id, "previous_mask", mask)
            prompt, rephrased = TEXTS[number % len(TEXTS)]
            self.records.append(
                {
                    "id": case_id,
                    "Organ": "Face",
                    "Task": "Repair",
                    "prompt": prompt,
                    "rephrased_prompt": rephrased,
                    "detailed_prompt": "In the photograph the lesion is no longer to be seen.",
                    "previous_image": f"editing/previous/{case_id}.png",
                    "changed_image": f"editing/changed/{case_id}.png",
                    "previous_mask": f"editing/previous_mask/{case_id}.png",
                    "url": "",
                }
            )

    def path(self, case_id: int, folder: str) -> Path:
        path = self.root / "editing" / folder / f"{case_id}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def save(self, case_id: int, folder: str, pixels: Any, **how: Any) -> None:
        image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
        image.save(self.path(case_id, folder), how.pop("format", "PNG"), **how)

    def pixels(self, case_id: int, folder: str) -> np.ndarray:
        return np.asarray(Image.open(self.path(case_id, folder)))

    def write(self, case_id: int, folder: str, data: bytes) -> None:
        self.path(case_id, folder).write_bytes(data)

    def read(self) -> CaseSet:
        metadata = self.root / "editing" / medebench_release.METADATA
        metadata.parent.mkdir(parents=True, exist_ok=True)
        metadata.write_text(json.dumps({"samples": self.records}), "utf-8")
        return medebench_release.read(metadata)


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def with_chunk(data: bytes, name: bytes, body: bytes, last: bool = False) -> bytes:
    """A PNG with one chunk more, before the pixels or behind them."""
    at = data.index(b"IEND") - 4 if last else 33
    return data[:at] + chunk(name, body) + data[at:]


def huge_png(side: int = 50_000) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + header + body
