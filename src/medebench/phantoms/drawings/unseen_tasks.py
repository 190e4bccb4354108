"""Tasks that no shipped model has learned, for experiments on learning: `unseen-phantoms`.

What is to be done depends on a word of the instruction, a colour, so that a model which does not
read it cannot know it. None is among the tasks of `phantoms`.
"""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings.eyes import sample_eyes
from medebench.phantoms.drawings.gut import endoscope, polyp, sample_gut
from medebench.phantoms.drawings.light import mix, tint
from medebench.phantoms.drawings.marks import mole_fields
from medebench.phantoms.drawings.phantom_spec import Draw, Params, Task, stage
from medebench.phantoms.drawings.portrait import Edit, portrait
from medebench.phantoms.drawings.skin import photograph, sample_skin, surface
from medebench.phantoms.drawings.stage import Image, Stage

#: Raise whenever the pixels or texts of an existing case change.
UNSEEN_VERSION = 1

_IRIS = {"brown": (0.36, 0.19, 0.07), "green": (0.24, 0.50, 0.22), "blue": (0.18, 0.42, 0.78)}
#: Colours that an eye of each of the phantoms' irises can be given.
_OTHERS = (("green", "blue"),) * 3 + (("brown", "blue"),) + (("brown", "green"),) * 2
#: Their mean is about that of skin, so that a picture that drifts to the mean gains nothing.
_PLASTERS = {"white": (0.95, 0.94, 0.91), "brown": (0.44, 0.28, 0.18), "red": (0.80, 0.20, 0.20)}
#: Indigo carmine, acetic acid and iodine, as they are sprayed on the mucosa.
_DYES = {"blue": (0.12, 0.26, 0.62), "white": (0.86, 0.84, 0.80), "brown": (0.40, 0.22, 0.06)}


def _sample_iris(d: Draw) -> Params:
    p = sample_eyes(d)
    p["colour"] = d.pick(_OTHERS[p["face"]["iris"]])
    return p


def _iris(p: Params) -> tuple[Image, Image]:
    st = stage(p, (128.0 - p["face"]["gap"], 119.0), 4.1 + 1.0 * p["near"])
    return portrait(st, p, Edit()), portrait(st, p, Edit(iris=_IRIS[p["colour"]]))


def _sample_plaster(d: Draw) -> Params:
    p = sample_skin(d)
    p["tone"] = round(0.02 + 0.5 * p["tone"], 4)
    p["mole"] = [d.real(70, 186), d.real(70, 186), d.real(9, 17)]
    p["colour"] = d.pick(list(_PLASTERS))
    return p


def _plaster(p: Params) -> tuple[Image, Image]:
    st = stage(p)
    x, y, r = p["mole"]
    before = surface(st, p, *mole_fields(st, [p["mole"]], 1.10 + 0.55 * p["tone"]))
    before = photograph(st, before, p)
    return before, _stick(st, before, x, y, 12.0 + 1.55 * r, _PLASTERS[p["colour"]])


def _stick(
    st: Stage, image: Image, x: float, y: float, r: float, dye: tuple[float, float, float]
) -> Image:
    """A round plaster: perforated cloth, a raised pad in its middle, a shadow at its edge."""
    disc = st.ellipse(x, y, r, r)
    pad = st.ellipse(x, y, 0.55 * r, 0.55 * r, soft=1.6)
    dx, dy = st.local(x, y)
    holes = np.clip(np.sin(dx * 0.95) * np.sin(dy * 0.95) - 0.72, 0, 1) * 3.0 * (1 - pad)
    weave = 0.012 * np.sin(st.px * 2.0) * np.sin(st.py * 2.0)
    rim = np.clip(disc - st.blur(disc, 2.0), 0, 1)
    relief = 3.2 * pad + 1.5 * st.blur(disc, 2.0)
    gy, gx = np.gradient(relief)
    lit = 0.97 + 0.10 * np.clip(-gx - gy, -1.5, 1.5) + weave - 0.22 * holes - 0.10 * rim
    cast = np.clip(st.blur(disc, 2.2) - disc, 0, 1)
    image = tint(image, 0.10 * cast, 0.45 * cast)
    lamp = 0.90 + 0.10 * (1.0 - ((st.px - 128) ** 2 + (st.py - 128) ** 2) / 2 / 128.0**2)
    cloth = np.asarray(dye) * (lit * lamp)[..., None] + (0.008 * st.grain("cloth"))[..., None]
    return mix(image, cloth, disc)


def _sample_dye(d: Draw) -> Params:
    p = sample_gut(d)
    p["colour"] = d.pick(list(_DYES))
    return p


def _dye(p: Params) -> tuple[Image, Image]:
    st = stage(p)
    before, _, cover = polyp(st, p)
    # Dye takes its light and shade from the surface that it lies on, and runs into every pit.
    bright = before.mean(axis=-1) / 0.55
    dye = np.asarray(_DYES[p["colour"]]) * np.clip(bright, 0.25, 1.7)[..., None] ** 1.2
    after = mix(before, dye, 0.86 * st.blur(cover, 0.8))
    return endoscope(st, p, before), endoscope(st, p, after)


UNSEEN_TASKS = (
    Task("Eyes", "Change iris colour", _sample_iris, _iris, lambda p: {"colour": p["colour"]}),
    Task("Skin", "Cover mole with plaster", _sample_plaster, _plaster,
         lambda p: {"colour": p["colour"]}),
    Task("Gastrointestinal Tract", "Stain polyp", _sample_dye, _dye,
         lambda p: {"colour": p["colour"]}),
)  # fmt: skip
