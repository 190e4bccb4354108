"""The sets of cases that this package draws: `phantoms`, `unseen-phantoms` and others."""

from __future__ import annotations

from pydantic import Field

from medebench.cases.drawn_set import DrawnSet, DrawnSettings
from medebench.phantoms import chest, drawings, medgen
from medebench.phantoms.chest.chest_edit import Edits
from medebench.phantoms.chest.chest_files import write_chest_phantoms
from medebench.phantoms.medgen.medgen_files import read_medgen_phantoms, write_medgen_phantoms


class MedgenSettings(DrawnSettings):
    #: Twelve of each task.
    count: int = Field(192, ge=1, le=100_000)


class UnseenSettings(DrawnSettings):
    #: 72 of each task: 30 to be tested on, and others to learn from.
    count: int = Field(216, ge=1, le=100_000)


class ChestSettings(DrawnSettings):
    count: int = Field(64, ge=1, le=100_000)
    shift: Edits = "all"
    size: int = Field(chest.SIZE, ge=128, le=1024)

    def kept_as(self) -> str:
        return f"{self.shift}-size{self.size}-{super().kept_as()}"


PHANTOMS = DrawnSet(
    "phantoms",
    drawings.VERSION,
    drawings.write_phantoms,
    summary="13 organs drawn by code, with exact references and regions of interest",
)
UNSEEN_PHANTOMS = DrawnSet(
    "unseen-phantoms",
    drawings.UNSEEN_VERSION,
    drawings.write_unseen_phantoms,
    UnseenSettings,
    summary="three tasks that the phantom editor never learned, drawn by code: to learn from",
)
CHEST_PHANTOMS = DrawnSet(
    "chest-phantoms",
    chest.VERSION,
    write_chest_phantoms,
    ChestSettings,
    summary="chest radiographs drawn by code, with findings and devices to add or remove",
)
MEDGEN_PHANTOMS = DrawnSet(
    "medgen-phantoms",
    medgen.VERSION,
    write_medgen_phantoms,
    MedgenSettings,
    summary="the 16 tasks of MedGEN-Bench drawn by code, with exact answers and references",
    read=read_medgen_phantoms,
)
