"""Drawing the pictures of one case into a pack, each decoded and encoded once.

What an earlier report drew of the same bytes is taken over; the case is opened only if something
must be drawn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medebench.cases import Case, OpenCase, open_case
from medebench.errors import MedebenchError
from medebench.images.picture import Picture, data_range
from medebench.outputs import OutputFiles
from medebench.outputs.output_files import Stored
from medebench.page.image_packs import Pack
from medebench.page.web_images import SMALL, draw_change, draw_views, key_of, outline_svg
from medebench.reporting.case_card import Cards, Text
from medebench.reporting.overlay import Overlay, Place, Wanted, draw_overlay
from medebench.runs.ledger import OutputRow
from medebench.tasks import CardImage

REPLACED = "the file was replaced after it was scored; score the run again"
GONE = "the case is no longer in its set"


class Shot(NamedTuple):
    """An image of a card as the page shows it; `mark` is the key of an outline over it."""

    label: str
    key: str
    width: int = 0
    height: int = 0
    mark: str = ""


@dataclass(frozen=True)
class CaseView:
    """What the page shows of a case; a key is empty where there is no picture."""

    shots: tuple[Shot, ...] = ()
    outline: str = ""
    #: Of the grid that outputs are brought to; 0 where there is none.
    width: int = 0
    height: int = 0
    #: Share of the frame inside the ROI.
    share: float | None = None
    texts: list[Text] = field(default_factory=list)
    #: Why a picture could not be shown, if so.
    trouble: str = ""

    def key(self, label: str) -> str:
        return next((shot.key for shot in self.shots if shot.label == label), "")


@dataclass(frozen=True)
class OutputView:
    key: str = ""
    #: The image's own size, which may differ from the case's; 0 where there is no image.
    width: int = 0
    height: int = 0
    trouble: str = ""
    #: Whether its pack holds a card with texts or further images.
    card: bool = False


@dataclass(frozen=True)
class Record:
    """What the folder remembers of a pack, so that nothing needs to be opened again."""

    kinds: list[str] = field(default_factory=list)
    #: By digest of a case that is shown without trouble, the fields of its `CaseView`.
    cases: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: By key of an output: width, height, and the images of its card (None: it has no card).
    outputs: dict[str, list[Any]] = field(default_factory=dict)
    #: Overlays that cannot be drawn.
    bare: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class DiskOutput:
    """An output as it lies there: its files are read, and not yet decoded."""

    entry: int
    k: int
    row: OutputRow
    files: OutputFiles
    key: str = ""
    stored: Stored = field(default_factory=lambda: Stored({}))
    trouble: str = ""

    def seen(self, digest: str, style: str) -> DiskOutput:
        if self.row.sha256 is None:
            return replace(self, trouble=f"no output: {self.row.reason}")
        try:
            stored = self.files.read()
        except MedebenchError as error:
            return replace(self, trouble=self.blame(error))
        found = stored.sha256
        trouble = "" if found == self.row.sha256 else REPLACED
        return replace(
            self, key=key_of("output", digest, found, style), stored=stored, trouble=trouble
        )

    def blame(self, error: Exception) -> str:
        """The page may be published: say what is wrong, not where on whose disk."""
        text = str(error)
        for path in self.files.paths:
            text = text.replace(f"{path}: ", "")
        return text


@dataclass(frozen=True)
class Work:
    """A case with its outputs and their overlays."""

    key: str
    case: Case | None
    digest: str
    cards: Cards
    outputs: tuple[DiskOutput, ...]
    overlays: tuple[Wanted, ...] = ()

    @property
    def shown(self) -> list[DiskOutput]:
        """The outputs that have a picture or a text."""
        return [one for one in self.outputs if one.key]

    @property
    def wants(self) -> list[str]:
        """What its pictures are drawn from."""
        if self.case is None:
            return [GONE]
        keys = [*(one.key for one in self.shown), *(one.overlay.key for one in self.overlays)]
        return [self.digest, self.cards.style, *self.case.files(), *keys, ""]


@dataclass(frozen=True)
class Drawn:
    """A case as the page shows it."""

    key: str
    view: CaseView
    outputs: dict[tuple[int, int], OutputView]
    overlays: dict[Place, tuple[Overlay, ...]]


def recall(work: Work, record: Record) -> Drawn | None:
    """What `draw` would give, if all of it was drawn before."""
    if work.case is None:
        return gone(work)
    known = record.cases.get(work.digest)
    if known is None or any(one.key not in record.outputs for one in work.shown):
        return None
    overlays = [one for one in work.overlays if one.overlay.key not in record.bare]
    return Drawn(
        work.key, _remembered(work, known), _outputs(work, record, {}), _by_place(overlays)
    )


def _remembered(work: Work, known: dict[str, Any]) -> CaseView:
    assert work.case is not None
    view = CaseView(**known | {"shots": tuple(Shot(*one) for one in known["shots"])})
    return replace(view, texts=work.cards.texts(work.case)) if work.cards.standard else view


def _memory(work: Work, view: CaseView) -> dict[str, Any]:
    """What cannot be told without opening the case."""
    kept: dict[str, Any] = {"shots": [list(one) for one in view.shots], "outline": view.outline}
    kept |= {"width": view.width, "height": view.height, "share": view.share}
    return kept if work.cards.standard else kept | {"texts": view.texts}


def gone(work: Work) -> Drawn:
    outputs = {
        (one.entry, one.k): OutputView(trouble=GONE if one.key else one.trouble)
        for one in work.outputs
    }
    return Drawn(work.key, CaseView(trouble=GONE), outputs, {})


def _outputs(
    work: Work, record: Record, troubles: dict[tuple[int, int], str]
) -> dict[tuple[int, int], OutputView]:
    found = {}
    for one in work.outputs:
        where = one.entry, one.k
        if one.key in record.outputs and where not in troubles:
            width, height, extra = record.outputs[one.key]
            found[where] = OutputView(one.key, width, height, one.trouble, extra is not None)
        else:
            found[where] = OutputView(trouble=troubles.get(where, one.trouble))
    return found


def _by_place(wanted: list[Wanted]) -> dict[Place, tuple[Overlay, ...]]:
    found: dict[Place, tuple[Overlay, ...]] = {}
    for one in wanted:
        found[one.place] = (*found.get(one.place, ()), one.overlay)
    return found


@dataclass
class _Drawing:
    """A picture and what was drawn of it."""

    picture: Picture
    small: str
    large: str | None
    change: str | None = None


class Artist:
    """Draws one case into `pack`, and says in `record` what is there now."""

    def __init__(self, work: Work, pack: Pack, record: Record, known: Record) -> None:
        assert work.case is not None
        self.work, self.case, self.cards = work, work.case, work.cards
        self.pack, self.record, self.known = pack, record, known
        self._made: dict[bytes, list[_Drawing]] = {}

    @cached_property
    def _opened(self) -> OpenCase:
        return open_case(self.case)

    def draw(self) -> Drawn:
        view = self._case()
        if not view.trouble:
            self.record.cases[self.work.digest] = _memory(self.work, view)
        troubles = {}
        for one in self.work.shown:
            try:
                self.record.outputs[one.key] = self._output(one, max(view.width, view.height))
            except MedebenchError as error:
                troubles[one.entry, one.k] = one.blame(error)
            except Exception as error:  # a card is the user's code: it must not end the report
                troubles[one.entry, one.k] = _card_trouble(error)
        overlays = [one for one in self.work.overlays if self._overlay(one)]
        outputs = _outputs(self.work, self.record, troubles)
        return Drawn(self.work.key, view, outputs, _by_place(overlays))

    def _case(self) -> CaseView:
        known = self.known.cases.get(self.work.digest)
        if known and (view := _remembered(self.work, known)) and self._is_there(view):
            return view
        shots: list[Shot] = []
        facts: dict[str, Any] = {}
        try:
            if (grid := self._opened.grid) is not None:
                facts |= {"width": grid.shape[1], "height": grid.shape[0]}
            if not self.cards.standard:
                card = self.cards.task.card(self._opened)
                facts["texts"] = [
                    [one.label, one.text, one.side, self.cards.marks(one)] for one in card.texts
                ]
                shots += self._shots(card.images, self.work.digest, self.cards.style)
            else:
                facts["texts"] = self.cards.texts(self.case)
                for role, label in self.cards.roles(self.case).items():
                    case, key = self._opened, key_of(role, self.work.digest)
                    picture = case.reference if role == "reference" else case.image(role)
                    shots.append(self._shot(label, key, picture))
            if self.case.roi is not None and self.case.previous is not None:
                roi = self._opened.roi
                facts["outline"] = self._outline(key_of("outline", self.work.digest), roi)
                facts["share"] = round(float(roi.mean()), 5)
        except MedebenchError as error:
            facts["trouble"] = str(error)
            for role, path in self.case.files().items():
                facts["trouble"] = facts["trouble"].replace(str(path), f"the {role} picture")
        except Exception as error:
            facts["trouble"] = _card_trouble(error)
        return CaseView(tuple(shots), **facts)

    def _is_there(self, view: CaseView) -> bool:
        lines = [*filter(None, [view.outline, *(shot.mark for shot in view.shots)])]
        there = all(self._has_views(one.key, max(one.width, one.height)) for one in view.shots)
        return there and all(self.pack.has("lines", key) for key in lines)

    def _shots(self, images: Sequence[CardImage], *parts: str) -> list[Shot]:
        found = []
        for number, one in enumerate(images):
            key = key_of("card", *parts, str(number))
            mark = None if one.mark is None else np.asarray(one.mark) > 0
            shot = self._shot(one.label, key, one.image)
            found.append(shot if mark is None else shot._replace(mark=self._outline(key, mark)))
        return found

    def _shot(self, label: str, key: str, picture: Picture) -> Shot:
        if not self._has_views(key, max(picture.shape[:2])):
            self._put_views(key, self._drawn(picture))
        return Shot(label, key, picture.shape[1], picture.shape[0])

    def _outline(self, key: str, mask: NDArray[np.bool_]) -> str:
        if not self.pack.has("lines", key):
            self.pack.put("lines", key, outline_svg(mask))
        return key

    def _has_views(self, key: str, longest: int) -> bool:
        kinds = ("small",) if longest <= SMALL else ("small", "large")
        return all(self.pack.has(kind, key) for kind in kinds)

    def _put_views(self, key: str, made: _Drawing) -> None:
        self.pack.put("small", key, made.small)
        if made.large is not None:
            self.pack.put("large", key, made.large)

    def _output(self, one: DiskOutput, grid: int) -> list[Any]:
        key = one.key
        if (known := self.known.outputs.get(key)) and self._has_output(key, known, grid):
            return known
        size = [0, 0]

        def fit(raw: Picture) -> Picture:
            size[:] = raw.shape[1], raw.shape[0]
            return self._opened.fit(raw)

        output = one.files.decode(one.stored, fit)
        if output.image is not None:
            made = self._drawn(output.image)
            self._put_views(key, made)
            if self.case.previous is not None:
                if made.change is None:
                    made.change = draw_change(self._opened, made.picture)
                self.pack.put("change", key, made.change)
        if self.cards.pictures_only:
            return [*size, None]
        made_card = self.cards.of_output(self._opened, output)
        shots = self._shots(made_card.images, key)
        if not made_card.texts and not shots:
            return [*size, None]
        card = {"texts": made_card.texts, "images": shots, "wanted": made_card.wanted}
        self.pack.put("cards", key, json.dumps(card, ensure_ascii=False))
        return [*size, [list(shot) for shot in shots]]

    def _has_output(self, key: str, known: list[Any], grid: int) -> bool:
        width, height, extra = known
        there = not width or self._has_views(key, grid or max(width, height))
        if width and self.case.previous is not None:
            there &= self.pack.has("change", key)
        if extra is None:
            return there
        view = CaseView(tuple(Shot(*one) for one in extra))
        return self._is_there(view) and self.pack.has("cards", key) and there

    def _drawn(self, picture: Picture) -> _Drawing:
        """The views of a picture; of one that was seen before in this case, those of then."""
        some = picture[::7, ::7].tobytes()
        for made in self._made.setdefault(some, []):
            if np.array_equal(made.picture, picture):
                return made
        made = _Drawing(picture, *draw_views(picture, data_range(picture, self.case.bits)))
        self._made[some].append(made)
        return made

    def _overlay(self, one: Wanted) -> bool:
        key = one.overlay.key
        if self.pack.has("lines", key):
            return True
        if key not in self.known.bare and (text := draw_overlay(self._opened, one)) is not None:
            self.pack.put("lines", key, text)
            return True
        self.record.bare.append(key)
        return False


def _card_trouble(error: Exception) -> str:
    return f"its card could not be made ({type(error).__name__}: {error})"
