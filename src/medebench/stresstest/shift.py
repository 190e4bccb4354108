"""What changes between the hospital a predictor learned in and the next one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedRow:
    """A predictor of a paper, printed as the column is; with a deviation where it gives one."""

    predictor: str
    original: str
    edited: str
    kind: str = ""


@dataclass(frozen=True)
class Published:
    """What a paper reports for a shift: context on the page of a test, never a yardstick."""

    title: str
    caption: str
    rows: tuple[PublishedRow, ...]


@dataclass(frozen=True)
class Shift:
    name: str
    published: Published | None = None
