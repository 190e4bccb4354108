"""Many cases at a glance: image, image with its ROI, reference, id and texts, on sheets of PNG."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from medebench.cases.case import Case
from medebench.cases.open_case import open_case
from medebench.errors import MedebenchError
from medebench.files import write_bytes
from medebench.images.outline import on_screen, outlined
from medebench.images.picture import encode_png
from medebench.parallel import in_parallel
from medebench.progress import Progress, silent

#: Cases on one sheet, and side by side.
PER_SHEET, COLUMNS = 24, 2
SIDE, GAP, LINE = 176, 8, 17
WIDTH = 3 * SIDE + 2 * GAP
_TEXTS = (("", "prompt", 2), ("rephrased: ", "rephrased_prompt", 1), ("", "description", 2))
_LINES = 1 + sum(lines for _, _, lines in _TEXTS)
_HEIGHT = SIDE + GAP + _LINES * LINE
_DARK, _DIM, _PALE = (20, 20, 24), (96, 96, 104), (238, 238, 240)

Pixels = NDArray[np.uint8]


def write_sheets(
    cases: Sequence[Case], out: Path, *, workers: int | None = None, progress: Progress = silent
) -> list[Path]:
    """`out`, and as many further files (sheet-2.png, ...) as the cases need."""
    tiles: dict[str, Image.Image] = {}
    for case_id, tile in in_parallel(lambda case: (case.id, _tile(case)), cases, workers):
        tiles[case_id] = tile
        progress(len(tiles), len(cases))
    written = []
    for number, start in enumerate(range(0, len(cases), PER_SHEET), 1):
        page = [tiles[case.id] for case in cases[start : start + PER_SHEET]]
        path = out if number == 1 else out.with_name(f"{out.stem}-{number}{out.suffix}")
        write_bytes(path, encode_png(np.asarray(_sheet(page))))
        written.append(path)
    return written


def _sheet(tiles: Sequence[Image.Image]) -> Image.Image:
    columns = min(COLUMNS, len(tiles))
    rows = -(-len(tiles) // columns)
    space = 3 * GAP
    size = (columns * (WIDTH + space) + space, rows * (_HEIGHT + space) + space)
    sheet = Image.new("RGB", size, "white")
    for place, tile in enumerate(tiles):
        row, column = divmod(place, columns)
        sheet.paste(tile, (space + column * (WIDTH + space), space + row * (_HEIGHT + space)))
    return sheet


def _tile(case: Case) -> Image.Image:
    tile = Image.new("RGB", (WIDTH, _HEIGHT), "white")
    pen = ImageDraw.Draw(tile)
    for place, panel in enumerate(_panels(case)):
        left = place * (SIDE + GAP)
        if isinstance(panel, str):
            pen.rectangle((left, 0, left + SIDE - 1, SIDE - 1), fill=_PALE)
            for row, line in enumerate(_wrapped(panel, SIDE - 2 * GAP, 8)):
                pen.text((left + GAP, GAP + row * LINE), line, fill=_DIM, font=_font())
            continue
        picture = Image.fromarray(panel)
        tile.paste(picture, (left + (SIDE - picture.width) // 2, (SIDE - picture.height) // 2))
    top = SIDE + GAP
    groups = " / ".join(filter(None, (case.organ, case.task)))
    head = _wrapped(f"{case.id}   {groups}", WIDTH, 1)[0]
    pen.text((0, top), head, fill=_DARK, font=_font(), stroke_width=0.3, stroke_fill=_DARK)
    for name, field, lines in _TEXTS:
        text = getattr(case, field)
        if not text or (field == "rephrased_prompt" and text == case.prompt):
            continue
        for line in _wrapped(name + text, WIDTH, lines):
            top += LINE
            pen.text((0, top), line, fill=_DIM if field != "prompt" else _DARK, font=_font())
    return tile


def _panels(case: Case) -> Iterator[Pixels | str]:
    """Three pictures; where there is none, why."""
    opened = open_case(case)
    panels: tuple[tuple[Path | None, str, Callable[[], Pixels]], ...] = (
        (case.previous, "no input image", lambda: on_screen(opened.previous, opened.data_range)),
        (case.roi if case.previous else None, "no ROI", lambda: _marked(opened)),
        (case.reference, "no reference", lambda: on_screen(opened.reference, opened.data_range)),
    )
    for there, what, draw in panels:
        try:
            yield _small(draw()) if there else what
        except MedebenchError as error:
            yield str(error).replace(str(there), Path(str(there)).name)


def _marked(opened: Any) -> Pixels:
    """The image with the ROI outlined and what lies outside darkened: an outline has no inside."""
    shown = outlined(on_screen(opened.previous, opened.data_range), opened.roi)
    return np.where(opened.roi[..., None], shown, shown // 3).astype(np.uint8)


def _small(picture: Pixels) -> Pixels:
    height, width = picture.shape[:2]
    scale = SIDE / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(picture, size, interpolation=how))


@cache
def _font() -> Any:
    # DejaVu comes with matplotlib and has far more scripts than Pillow's own.
    from matplotlib.font_manager import findfont

    return ImageFont.truetype(findfont("DejaVu Sans"), 12)


def _wrapped(text: str, width: int, most: int) -> list[str]:
    """At most so many lines, the last one ending in "…" if there is more."""
    lines, rest = [""], " ".join(text.split())[:2000]
    for word in rest.split(" "):
        for part in _parts(word, width):
            longer = f"{lines[-1]} {part}".strip()
            if _font().getlength(longer) <= width:
                lines[-1] = longer
            else:
                lines.append(part)
    if len(lines) > most:
        last = lines[most - 1]
        while last and _font().getlength(last + "…") > width:
            last = last[:-1]
        lines = [*lines[: most - 1], last + "…"]
    return lines


def _parts(word: str, width: int) -> Iterator[str]:
    """A word in pieces that fit: a path, a text without spaces."""
    while _font().getlength(word) > width:
        size = max(1, int(len(word) * width / _font().getlength(word)) - 1)
        yield word[:size]
        word = word[size:]
    yield word
