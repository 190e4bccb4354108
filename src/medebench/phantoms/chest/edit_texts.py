"""An edit of a chest phantom in words, for editors that follow instructions and for judges."""

from __future__ import annotations

from medebench.phantoms.chest.captions import device_words, finding_words
from medebench.phantoms.chest.chest_edit import ChestEdit
from medebench.phantoms.chest.chest_spec import Device, DeviceName, Finding, FindingName

#: What a person sees; `{part}` is "upper left lung", `{side}` "left".
_SEEN: dict[FindingName | DeviceName, str] = {
    "pneumothorax": "a dark rim without vessels between the {part} and the chest wall",
    "opacities": "hazy white patches in {part}",
    "nodule": "a small round white spot in the {part}",
    "oedema": "white haze around the roots of {part}",
    "consolidation": "a solid white area in the {part}",
    "chest drain": "a white tube from the {side} chest wall up to the apex of the lung",
    "pacemaker": "a white box below the {side} clavicle and a lead to the heart",
    "wires": "thin white leads with round electrodes across the chest",
}
_ARTICLE = {"opacities": "", "oedema": "", "wires": ""}


def instruction(edit: ChestEdit) -> str:
    thing = edit.thing
    words = finding_words(thing) if isinstance(thing, Finding) else device_words(thing)
    if edit.kind == "removal":
        return f"Remove the {words} from this chest radiograph."
    return f"Add {_ARTICLE.get(thing.name, 'a ')}{words} to this chest radiograph."


def description(edit: ChestEdit) -> str:
    shows = "no longer shows" if edit.kind == "removal" else "now shows"
    return (
        f"A chest radiograph of the same patient that {shows} {seen(edit.thing)}; "
        "bones, heart, all other devices and the look of the picture are as before."
    )


def seen(thing: Finding | Device) -> str:
    """What the thing looks like, and where.

    >>> seen(Finding("nodule", "left", "upper"))
    'a small round white spot in the upper left lung'
    """
    part = "both lungs" if thing.side == "both" else f"{thing.side} lung"
    if isinstance(thing, Finding) and thing.zone != "all":
        part = f"{thing.zone} {part}"
    return _SEEN[thing.name].format(part=part, side=thing.side)
