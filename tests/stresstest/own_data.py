"""A user's data, plan and predictor, drawn small, for the tests of plans."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from PIL import Image

from tests.conftest import draw

MINE = """
class Classifier:
    def predict(self, pictures):
        return [float(one.mean()) / 255 for one in pictures]

class Segmenter:
    def predict(self, pictures):
        return [one[..., 0] > 100 for one in pictures]
"""


def box(path: Path, height: int = 48, width: int = 64, filled: bool = True) -> None:
    mask = np.zeros((height, width), np.uint8)
    if filled:
        mask[10:30, 12:40] = 255
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(mask).save(path)


def write_data(folder: Path, count: int = 6) -> list[dict[str, str]]:
    """Pictures (two in three have the disease), masks, and the rows of their table."""
    rows = []
    for number in range(1, count + 1):
        name = f"p{number}"
        (folder / "img").mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw(number)).save(folder / "img" / f"{name}.png")
        for role in ("edit", "keep", "lungs"):
            box(folder / role / f"{name}.png")
        ill = number % 3 != 0
        rows.append(
            {
                "id": name,
                "image": f"img/{name}.png",
                "label": "pneumothorax" if ill else "normal",
                "caption": "pneumothorax, chest drain" if ill else "a normal chest",
                "edit_mask": f"edit/{name}.png",
                "keep_mask": f"keep/{name}.png",
                "mask": f"lungs/{name}.png",
                "group": f"patient{number // 2}",
            }
        )
    (folder / "mine.py").write_text(MINE)
    return rows


def write_table(folder: Path, rows: list[dict[str, str]], name: str = "images.csv") -> Path:
    with (folder / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return folder / name


def write_plan(folder: Path, **changes: Any) -> Path:
    """A good plan with changes; None takes a field away."""
    said: dict[str, Any] = {
        "data": "images.csv",
        "task": "classification",
        "positive": "pneumothorax",
        "edit": {"prompt": "no pneumothorax, chest drain", "label": "normal"},
        "predictor": "mine.py:Classifier",
        **changes,
    }
    if said["task"] == "segmentation":
        said["predictor"] = "mine.py:Segmenter"
        said.pop("positive", None)
    kept = {key: value for key, value in said.items() if value is not None}
    path = folder / "drains.yaml"
    path.write_text(yaml.safe_dump(kept))
    return path
