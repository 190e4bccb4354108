"""Teeth: wisdom teeth on a panoramic film, missing and stained teeth in a photograph."""

from __future__ import annotations

from .intraoral import intraoral
from .light import collimate, film, photo
from .panoramic import panoramic
from .spec import Draw, Params, Task, Texts, Words, common, stage
from .stage import Image

PANORAMIC = "panoramic radiograph"
INTRAORAL = "intraoral photography"


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
    f = p["frame"]
    box = (f[0], f[1], 256 - f[2], 256 - f[3])
    before, after = (collimate(st, film(st, panoramic(st, p, w) * p["exposure"], gamma=1.2), box)
                     for w in (True, False))  # fmt: skip
    return before, after


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
    return {"count": {2: "two", 3: "three", 4: "four"}[n],
            "jaw": "lower jaw" if n == 2 else "jaws"}  # fmt: skip


def _which(p: Params) -> Words:
    name = {0: "central incisor", 1: "lateral incisor", 2: "canine"}
    k = p["missing"] - 6 if p["missing"] >= 6 else 5 - p["missing"]
    return {"name": name[k], "side": "left" if p["missing"] < 6 else "right"}


TASKS = (
    Task("Teeth", "Remove wisdom teeth", "removal", PANORAMIC, _sample_wisdom, _wisdom, Texts(
        "wisdom teeth",
        (
            "Remove the {count} wisdom teeth.",
            "Extract the wisdom teeth from the {jaw}.",
            "Take out all {count} wisdom teeth on this film.",
            "Erase the impacted wisdom teeth from the radiograph.",
        ),
        (
            "Show the {jaw} after extraction of every third molar.",
            "Make the {count} third molars disappear and fill in bone.",
            "Delete the molars at the far ends of the tooth rows.",
            "Give the panoramic view healed bone behind the second molars.",
        ),
        (
            "In this panoramic radiograph, remove the {count} third molars so that healed "
            "trabecular bone is seen behind the second molars.",
            "Panoramic radiograph: extract the impacted wisdom teeth and show normal bone in their "
            "place while all other teeth remain unchanged.",
        ), _count)),
    Task("Teeth", "Add missing tooth", "addition", INTRAORAL, _sample_photo, _gap, Texts(
        "missing tooth",
        (
            "Add the missing tooth in the upper row.",
            "Replace the missing tooth, an upper {name}.",
            "Fill the gap of the missing tooth on the {side} side of the image.",
            "Restore the missing tooth with a natural-looking crown.",
        ),
        (
            "Close the gap in the upper row with a matching implant.",
            "Show a complete smile with the upper {name} in place.",
            "Insert a natural {name} into the dark gap.",
            "Complete the upper dental arch on the {side} side.",
        ),
        (
            "In this intraoral photograph, add the absent upper {name} so that its size, shade and "
            "gum line match the neighbouring teeth.",
            "Intraoral photograph: close the gap in the upper arch with a natural {name} and "
            "restore a continuous gingival margin.",
        ), _which)),
    Task("Teeth", "Whiten stained teeth", "correction", INTRAORAL, _sample_photo, _stain, Texts(
        "stained teeth",
        (
            "Whiten the stained teeth.",
            "Clean the stained teeth until they look naturally white.",
            "Brighten the stained teeth in both rows.",
            "Remove the discolouration from the stained teeth.",
        ),
        (
            "Bleach the yellow smile to a natural white.",
            "Show the dentition after professional cleaning and bleaching.",
            "Take the yellow and brown deposits off the enamel.",
            "Give both rows a clean, bright enamel colour.",
        ),
        (
            "In this intraoral photograph, remove the yellow-brown staining so that all crowns "
            "show a natural white enamel while gums stay unchanged.",
            "Intraoral photograph: whiten the discoloured enamel of the upper and lower teeth "
            "without altering tooth shape, gums or lighting.",
        ))),
)  # fmt: skip
