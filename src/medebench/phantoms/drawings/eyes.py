"""Eyes: drooping lid, red eye and cataract on the close-up face."""

from __future__ import annotations

from dataclasses import replace

from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, common, side, stage
from medebench.phantoms.drawings.portrait import Edit, portrait, sample_face
from medebench.phantoms.drawings.stage import Image


def sample_eyes(d: Draw) -> Params:
    p = common(d)
    sample_face(d, p)
    p["severity"] = d.real(0.0, 1.0)
    p["near"] = d.real(0.0, 1.0)
    p["face"]["gaze"] = d.real(-0.12, 0.12)
    return p


def _droop(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0, 121.0), 1.75 + 0.25 * p["near"])
    low = 0.36 - 0.34 * p["severity"]
    return portrait(st, p, Edit(open=low)), portrait(st, p, Edit())


def _close(p: Params, sick: Edit) -> tuple[Image, Image]:
    st = stage(p, (128.0 - p["face"]["gap"], 119.0), 4.1 + 1.0 * p["near"])
    return portrait(st, p, sick), portrait(st, p, replace(sick, redness=0.0, cloud=0.0))


def _red(p: Params) -> tuple[Image, Image]:
    return _close(p, Edit(redness=0.75 + 0.45 * p["severity"]))


def _cataract(p: Params) -> tuple[Image, Image]:
    return _close(p, Edit(cloud=0.82 + 0.18 * p["severity"]))


TASKS = (
    Task(
        "Eyes", "Correct drooping eyelid", sample_eyes, _droop, lambda p: {"side": side(p, "left")}
    ),
    Task("Eyes", "Remove eye redness", sample_eyes, _red),
    Task("Eyes", "Remove cataract", sample_eyes, _cataract),
)
