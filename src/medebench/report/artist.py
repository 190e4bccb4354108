"""Drawing the pictures of one case into a pack, each decoded and encoded once.

What an earlier report drew of the same bytes is taken over; the case is opened only if something
must be drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from medebench.cases import Case, OpenCase, open_case
from medebench.cases.image import Picture, read_file, read_picture
from medebench.errors import MedebenchError
from medebench.files import sha256
from medebench.report.overlay import Overlay, Place, Wanted, draw_overlay
from medebench.report.packs import Pack
from medebench.report.pictures import SMALL, draw_change, draw_views, key_of, outline_svg
from medebench.runs.ledger import OutputRow

REPLACED = "the file was replaced after it was scored; score the run again"
GONE = "the case is no longer in its set"


@dataclass(frozen=True)
class CaseView:
    """What the page shows of a case; a key is empty where there is no picture."""

    previous: str = ""
    reference: str = ""
    outline: str = ""
    width: int = 0
    height: int = 0
    #: Share of the frame inside the ROI.
    share: float | None = None
    #: Why a picture could not be shown, if so.
    trouble: str = ""


@dataclass(frozen=True)
class OutputView:
    key: str = ""
    #: Its own size, which may differ from the case's.
    width: int = 0
    height: int = 0
    trouble: str = ""


@dataclass(frozen=True)
class Record:
    """What the folder remembers of a pack, so that nothing needs to be opened again."""

    kinds: list[str] = field(default_factory=list)
    #: By digest of a case that is shown without trouble: width, height and share of the ROI.
    cases: dict[str, list[Any]] = field(default_factory=dict)
    #: By key of an output: width and height.
    outputs: dict[str, list[int]] = field(default_factory=dict)
    #: Overlays that cannot be drawn.
    bare: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Output:
    """An output as it lies there: its file is read, and not yet decoded."""

    entry: int
    k: int
    row: OutputRow
    path: Path
    key: str = ""
    data: bytes = b""
    trouble: str = ""

    def seen(self, digest: str) -> Output:
        if self.row.sha256 is None:
            return replace(self, trouble=f"no output: {self.row.reason}")
        try:
            data = read_file(self.path)
        except MedebenchError as error:
            return replace(self, trouble=self.blame(error))
        found = sha256(data)
        trouble = "" if found == self.row.sha256 else REPLACED
        return replace(self, key=key_of("output", digest, found), data=data, trouble=trouble)

    def blame(self, error: Exception) -> str:
        """The page may be published: say what is wrong, not where on whose disk."""
        return str(error).replace(f"{self.path}: ", "")


@dataclass(frozen=True)
class Work:
    """A case with its outputs and their overlays."""

    key: str
    case: Case | None
    digest: str
    outputs: tuple[Output, ...]
    overlays: tuple[Wanted, ...] = ()

    @property
    def shown(self) -> list[Output]:
        """The outputs that have a picture."""
        return [one for one in self.outputs if one.key]

    @property
    def wants(self) -> list[str]:
        """What its pictures are drawn from."""
        if self.case is None:
            return [GONE]
        roles = [role for role in ("reference", "roi") if getattr(self.case, role) is not None]
        keys = [*(one.key for one in self.shown), *(one.overlay.key for one in self.overlays)]
        return [self.digest, *roles, *keys, ""]


@dataclass(frozen=True)
class Drawn:
    """A case as the page shows it."""

    key: str
    view: CaseView
    outputs: dict[tuple[int, int], OutputView]
    overlays: dict[Place, tuple[Overlay, ...]]


def recall(work: Work, record: Record) -> Drawn | None:
    """What `draw` would give, if all of it was drawn before."""
    case = work.case
    if case is None:
        return gone(work)
    sizes = [record.outputs.get(one.key) for one in work.shown]
    known = record.cases.get(work.digest)
    if known is None or None in sizes:
        return None
    keys = {role: _key(role, work) for role in _roles(case)}
    view = CaseView(**keys, width=known[0], height=known[1], share=known[2])
    overlays = [one for one in work.overlays if one.overlay.key not in record.bare]
    return Drawn(work.key, view, _outputs(work, record, {}), _by_place(overlays))


def _roles(case: Case) -> list[str]:
    there = {"previous": True, "reference": case.reference, "outline": case.roi}
    return [role for role, file in there.items() if file is not None]


def _key(role: str, work: Work) -> str:
    return key_of(role, work.digest)


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
            width, height = record.outputs[one.key]
            found[where] = OutputView(one.key, width, height, one.trouble)
        else:
            found[where] = OutputView(trouble=troubles.get(where, one.trouble))
    return found


def _by_place(wanted: list[Wanted]) -> dict[Place, tuple[Overlay, ...]]:
    found: dict[Place, tuple[Overlay, ...]] = {}
    for one in wanted:
        found[one.place] = (*found.get(one.place, ()), one.overlay)
    return found


@dataclass
class _Made:
    """A picture and what was drawn of it."""

    picture: Picture
    small: str
    large: str | None
    change: str | None = None


class Artist:
    """Draws one case into `pack`, and says in `record` what is there now."""

    def __init__(self, work: Work, pack: Pack, record: Record, known: Record) -> None:
        assert work.case is not None
        self.work, self.case = work, work.case
        self.pack, self.record, self.known = pack, record, known
        self._made: dict[bytes, list[_Made]] = {}

    @cached_property
    def _opened(self) -> OpenCase:
        return open_case(self.case)

    def draw(self) -> Drawn:
        view = self._case()
        if not view.trouble:
            self.record.cases[self.work.digest] = [view.width, view.height, view.share]
        troubles = {}
        for one in self.work.shown:
            try:
                self.record.outputs[one.key] = self._output(one, max(view.width, view.height))
            except MedebenchError as error:
                troubles[one.entry, one.k] = one.blame(error)
        overlays = [one for one in self.work.overlays if self._overlay(one)]
        outputs = _outputs(self.work, self.record, troubles)
        return Drawn(self.work.key, view, outputs, _by_place(overlays))

    def _case(self) -> CaseView:
        known = self.known.cases.get(self.work.digest)
        keys: dict[str, str] = {}
        width = height = 0
        share: float | None = None
        trouble = ""
        try:
            width, height = known[:2] if known else self._opened.previous.shape[1::-1]
            for role in _roles(self.case):
                key = _key(role, self.work)
                if role == "outline":
                    share = self._outline(key, known)
                else:
                    self._views(key, max(width, height), partial(getattr, self._opened, role))
                keys[role] = key
        except MedebenchError as error:
            trouble = str(error)
            for role, path in self.case.files().items():
                trouble = trouble.replace(str(path), f"the {role} picture")
        return CaseView(**keys, width=width, height=height, share=share, trouble=trouble)

    def _outline(self, key: str, known: list[Any] | None) -> float:
        if not self.pack.has("lines", key):
            self.pack.put("lines", key, outline_svg(self._opened.roi))
        return known[2] if known else round(float(self._opened.roi.mean()), 5)

    def _views(self, key: str, longest: int, picture: Callable[[], Picture]) -> None:
        kinds = ("small",) if longest <= SMALL else ("small", "large")
        if not all(self.pack.has(kind, key) for kind in kinds):
            self._put_views(key, self._drawn(picture()))

    def _put_views(self, key: str, made: _Made) -> None:
        self.pack.put("small", key, made.small)
        if made.large is not None:
            self.pack.put("large", key, made.large)

    def _output(self, one: Output, longest: int) -> list[int]:
        known, key = self.known.outputs.get(one.key), one.key
        kinds = ("small", "change") if longest <= SMALL else ("small", "large", "change")
        if known and all(self.pack.has(kind, key) for kind in kinds):
            return known
        raw = read_picture(one.path, one.data)
        made = self._drawn(self._opened.fit(raw))
        if made.change is None:
            made.change = draw_change(self._opened, made.picture)
        self._put_views(key, made)
        self.pack.put("change", key, made.change)
        return [raw.shape[1], raw.shape[0]]

    def _drawn(self, picture: Picture) -> _Made:
        """The views of a picture; of one that was seen before in this case, those of then."""
        some = picture[::7, ::7].tobytes()
        for made in self._made.setdefault(some, []):
            if np.array_equal(made.picture, picture):
                return made
        made = _Made(picture, *draw_views(picture, self._opened.data_range))
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
