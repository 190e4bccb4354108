"""All that people see of the cases, drawn on all cores, under names that tell nothing."""

from __future__ import annotations

import io
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import cycle, islice
from pathlib import Path
from random import Random, SystemRandom

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.cases import Case, OpenCase, open_case
from medebench.cases.caseset import hash_case
from medebench.errors import ImageError, InputError
from medebench.images.picture import Picture, data_range, encode_png
from medebench.outputs import Output, OutputFiles
from medebench.page.web_images import shrink, to_bytes
from medebench.parallel import in_parallel
from medebench.progress import Progress
from medebench.study.design import RUINED, ShownImage, ShownText, StudyCase
from medebench.study.design import Output as ShownOutput
from medebench.study.study_sample import Candidate
from medebench.tasks import Card, CardImage, MixedTask, Task

Bytes = NDArray[np.uint8]

#: The outline is two or three pixels wide where the longer side is shown this large.
_SHOWN = 512
_BLOCKS = 8
#: A ruined text has at least so many words: a short one could pass for an answer.
_WORDS = 8
#: An image that is nowhere brighter than this looks black.
_BLACK = 24


def shown(picture: Picture, data_range: int, largest: int) -> Bytes:
    """An image as people see it: 8 bits, RGB, its longer side at most `largest`."""
    return np.asarray(shrink(to_bytes(picture, data_range), largest), np.uint8)


def png(picture: Bytes) -> bytes:
    """RGB or RGBA as PNG without a single chunk beside the pixels."""
    if picture.shape[2] == 3:
        return encode_png(picture)
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "PNG", compress_level=6)
    return stream.getvalue()


def outline(roi: NDArray[np.bool_], width: int, height: int) -> Bytes | None:
    """The border of the ROI, white with a dark edge, on nothing; None if there is no ROI.

    A ROI that fills the picture has the frame as its border.
    """
    if not roi.any():
        return None
    mask = roi.astype(np.uint8)
    if mask.shape != (height, width):
        small = cv2.resize(mask.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA)
        # Half a pixel counts; if there is none, the most: a tiny ROI must not vanish.
        mask = (small >= min(0.5, float(small.max()))).astype(np.uint8)
    lines, _ = cv2.findContours(mask, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    scale = max(width, height) / _SHOWN
    white = max(1, round(1.5 * scale))
    dark = white + 2 * max(1, round(0.75 * scale))
    drawn = np.zeros((height, width, 4), np.uint8)
    cv2.drawContours(drawn, lines, -1, (0, 0, 0, 190), dark)
    cv2.drawContours(drawn, lines, -1, (255, 255, 255, 255), white)
    return drawn


def ruin(picture: Bytes, key: str) -> Bytes:
    """A copy that nobody takes for an edit: blocks in disorder under heavy noise.

    The same picture and key give the same ruin.
    """
    random = np.random.default_rng(int(sha256(key.encode()).hexdigest()[:16], 16))
    height, width = picture.shape[:2]
    rows, columns = min(_BLOCKS, height), min(_BLOCKS, width)
    y = np.arange(height) * rows // height
    x = np.arange(width) * columns // width
    # Where each block comes from; blocks differ by a pixel in size, which the clipping hides.
    order = random.permutation(rows * columns).reshape(rows, columns)
    start_y = np.searchsorted(y, np.arange(rows))
    start_x = np.searchsorted(x, np.arange(columns))
    taken = order[y[:, None], x[None, :]]
    from_y = start_y[taken // columns] + (np.arange(height) - start_y[y])[:, None]
    from_x = start_x[taken % columns] + (np.arange(width) - start_x[x])[None, :]
    mixed = picture[np.minimum(from_y, height - 1), np.minimum(from_x, width - 1)]
    colours = random.integers(0, 256, (rows, columns, 3), np.uint8)
    flat = random.random((rows, columns)) < 0.3
    painted = np.where(flat[y[:, None], x[None, :], None], colours[y[:, None], x[None, :]], mixed)
    noise = random.integers(0, 256, picture.shape, np.uint8)
    return np.asarray(cv2.addWeighted(painted, 0.45, noise, 0.55, 0.0), np.uint8)


def ruin_text(text: str, key: str) -> str:
    """Words in disorder, each with its letters in disorder. The same text and key, the same ruin.

    >>> ruin_text("no", "a") == ruin_text("no", "a") != ruin_text("no", "b")
    True
    """
    random = Random(key)
    given = text.split() or ["?"]
    words = list(islice(cycle(given), max(_WORDS, len(given))))
    return " ".join(
        "".join(random.sample(word, len(word))) for word in random.sample(words, len(words))
    )


@dataclass(frozen=True)
class Work:
    """One case to be drawn."""

    number: int
    case: Case
    task: Task
    candidate: Candidate
    #: Run name -> its output.
    files: dict[str, OutputFiles]
    ruined: bool
    largest: int


def draw_cases(
    folder: Path, work: Sequence[Work], workers: int | None, progress: Progress
) -> tuple[dict[int, StudyCase], list[str]]:
    """The cases by number, and the ids of those whose deep images look black on a screen.

    Threads draw, this one writes: after Ctrl-C none puts a file where all was removed.
    """
    folder.mkdir()
    moment = int(time.time())
    cases: dict[int, StudyCase] = {}
    dark: list[str] = []
    progress(0, len(work))
    with closing(in_parallel(_draw, work, workers)) as results:
        for done, drawn in enumerate(results, start=1):
            for name, data in drawn.files.items():
                (folder / name).write_bytes(data)
                os.utime(folder / name, (moment, moment))
            cases[drawn.number] = drawn.case
            if drawn.dark:
                dark.append(drawn.case.id)
            progress(done, len(work))
    return cases, sorted(dark)


@dataclass
class _Drawn:
    number: int
    case: StudyCase
    largest: int
    bits: int | None
    #: From which the ruin follows.
    key: str
    dark: bool = False
    #: File name -> content.
    files: dict[str, bytes] = field(default_factory=dict)

    def add(self, data: bytes, suffix: str = ".png") -> str:
        name = f"{secrets.token_hex(8)}{suffix}"
        self.files[name] = data
        return name

    def shown(self, image: Picture) -> Bytes:
        """As people see it; the first image gives the frame its shape."""
        made = shown(image, data_range(image, self.bits), self.largest)
        if not self.case.width:
            self.case.height, self.case.width = made.shape[:2]
        return made


def _draw(work: Work) -> _Drawn:
    case, candidate = work.case, work.candidate
    opened = open_case(case)
    about = StudyCase(
        id=case.id, group=candidate.group, source=candidate.source, texts=[], outputs={}
    )
    if isinstance(work.task, MixedTask):
        about.gives = [*work.task.of(case).gives]
    drawn = _Drawn(work.number, about, work.largest, case.bits, candidate.digest)
    with _remedy("repair the case, or make the runs without it"):
        _draw_card(drawn, opened, work.task.card(opened))
    if hash_case(case).digest != candidate.digest:
        raise InputError(
            f"{case.previous or 'cases'}: case {case.id} has changed since the runs were made; "
            "run it again"
        )
    outputs = {name: _output(work, opened, name) for name in work.files}
    if work.ruined:
        outputs[RUINED] = _ruined(drawn, opened, [outputs[name] for name in sorted(outputs)])
    found: dict[str, ShownOutput] = {}
    # In no order, so that not even the place on the disk is the same for all cases.
    for name in SystemRandom().sample([*outputs], len(outputs)):
        image, text = outputs[name].image, outputs[name].text
        found[name] = ShownOutput(
            picture=None if image is None else drawn.add(png(drawn.shown(image))),
            text=None if text is None else drawn.add(text.encode(), ".txt"),
            sha256=candidate.outputs.get(name, ""),
        )
    about.outputs = {name: found[name] for name in outputs}
    return drawn


def _draw_card(drawn: _Drawn, opened: OpenCase, card: Card) -> None:
    """What the card shows of the case and its reference."""
    drawn.case.texts = [
        ShownText(label=one.label, text=one.text, side=one.side)
        for one in card.texts
        if one.side != "output" and one.text
    ]
    own = None if opened.case.previous is None else opened.previous
    if own is not None:
        drawn.shown(own)
    for one in card.images:
        if one.side == "output":
            continue
        image = drawn.shown(one.image)
        deep = one.image.dtype != image.dtype
        drawn.dark |= one.side == "case" and deep and int(image.max()) < _BLACK
        line = None if one.mark is None else outline(one.mark > 127, *image.shape[1::-1])
        drawn.case.images.append(
            ShownImage(
                name=_name(one, own, {other.name for other in drawn.case.images}),
                label=one.label,
                picture=drawn.add(png(image)),
                side=one.side,
                outline=None if line is None else drawn.add(png(line)),
            )
        )


def _name(one: CardImage, own: Picture | None, taken: set[str]) -> str:
    if one.image is own and "previous" not in taken:
        return "previous"
    if one.side == "reference" and "reference" not in taken:
        return "reference"
    return f"image-{len(taken) + 1}"


def _output(work: Work, opened: OpenCase, name: str) -> Output:
    files = work.files[name]
    with _remedy("make this output again, or leave the run out"):
        stored = files.read()
        if stored.sha256 != work.candidate.outputs[name]:
            raise ImageError(f"{files.paths[0]}: is not the output that its run's ledger lists")
        return files.decode(stored, opened.fit)


def _ruined(drawn: _Drawn, opened: OpenCase, outputs: Sequence[Output]) -> Output:
    """Has the parts that the others have, but nobody who looks takes it for one of them."""
    own = [] if opened.case.previous is None else [opened.previous]
    images = [one.image for one in outputs if one.image is not None]
    texts = [one.text for one in outputs if one.text is not None]
    return Output(
        ruin(drawn.shown((own + images)[0]), drawn.key) if images else None,
        ruin_text(f"{texts[0]} {opened.case.prompt}", drawn.key) if texts else None,
    )


@contextmanager
def _remedy(words: str) -> Iterator[None]:
    try:
        yield
    except ImageError as error:
        raise ImageError(f"{error}; {words}") from error
