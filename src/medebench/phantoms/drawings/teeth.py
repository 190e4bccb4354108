"""Teeth: wisdom teeth on a panoramic film, missing and stained teeth in a photograph."""

from __future__ import annotations

from medebench.phantoms.drawings.intraoral import intraoral
from medebench.phantoms.drawings.light import collimate, film, photo
from medebench.phantoms.drawings.panoramic import panoramic
from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, Words, common, stage
from medebench.phantoms.drawings.stage import Image


def _sample_wisdom(d: Draw) -> Params:
    p = common(d)
    p["tilts"] = [d.real(0.0, 0.5), d.real(0.0, 0.5), d.real(0.3, 1.15), d.real(0.3, 1.15)]
    p["wisdom"] = d.pick([[2, 3], [0, 1, 2, 3], [2, 3], [0, 1, 2, 3], [1, 2, 3], [0, 2, 3]])
    p["turn"] = round(p["turn"] * 0.4, 4)
    p["exposure"] = d.real(0.9, 1.12)
    p["zoom"] = d.real(0.98, 1.06)
    p["shift"] = [d.real(-4, 4), d.real(-4, 4)]
    p["frame"] = [d.real(0, 5), d.real(0, 8), d.real(0, 5), d.real(0, 8)]
    return p


def _wisdom(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 138.0), 1.10)

    def view(wisdom: bool) -> Image:
        density = panoramic(st, p, wisdom) * p["exposure"]
        return collimate(st, film(st, density, gamma=1.2), p["frame"])

    return view(True), view(False)


def _sample_photo(d: Draw) -> Params:
    p = common(d)
    p["missing"] = d.pick([3, 4, 5, 6, 7, 8])
    p["stain"] = d.real(0.72, 0.98)
    p["mirror"] = False
    return p


def _gap(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 131.0), 1.06)
    before = intraoral(st, p, gap=p["missing"], filled=False)
    return photo(st, before), photo(st, intraoral(st, p, gap=p["missing"]))


def _stain(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 131.0), 1.06)
    return photo(st, intraoral(st, p, stain=p["stain"])), photo(st, intraoral(st, p))


def _count(p: Params) -> Words:
    n = len(p["wisdom"])
    return {"count": {2: "two", 3: "three", 4: "four"}[n], "jaw": "lower jaw" if n == 2 else "jaws"}


def _which(p: Params) -> Words:
    name = {0: "central incisor", 1: "lateral incisor", 2: "canine"}
    k = p["missing"] - 6 if p["missing"] >= 6 else 5 - p["missing"]
    return {"name": name[k], "side": "left" if p["missing"] < 6 else "right"}


TASKS = (
    Task("Teeth", "Remove wisdom teeth", _sample_wisdom, _wisdom, _count),
    Task("Teeth", "Add missing tooth", _sample_photo, _gap, _which),
    Task("Teeth", "Whiten stained teeth", _sample_photo, _stain),
)
