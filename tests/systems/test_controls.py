"""Controls: their answer is known, and their seeds do not depend on the order."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

from medebench.cases import load_cases, open_case
from medebench.errors import InputError
from medebench.systems import SYSTEMS, Refused, Request, System, case_seed, find_system


@pytest.fixture
def opened(small_set):
    return open_case(load_cases(small_set)["1"])


def _edit(call, opened, seed=0):
    return find_system(call).system.edit(Request(opened, 0, seed)).image


CLASSICAL = ("identity", "reference", "blur", "noise", "inpaint", "blank")
OF_TEXTS = ("empty-text", "repeat-question", "random-choice", "most-frequent", "other-answer")


@pytest.mark.parametrize("name", SYSTEMS.own_names())
def test_every_editor_keeps_the_protocol(name):
    kind = SYSTEMS.find(name)
    required = any(field.is_required() for field in kind.Settings.model_fields.values())
    chosen = find_system(shlex.split(kind.example)[0] if required else name)
    assert isinstance(chosen.system, System)
    # The example of `paired` has a control inside.
    controls = {*CLASSICAL, *OF_TEXTS, "paired"} - {"inpaint"}
    assert chosen.system.control == (name in controls)


@pytest.mark.parametrize("name", CLASSICAL)
def test_every_control_gives_a_picture(name, opened):
    chosen = find_system(name)
    picture = chosen.system.edit(Request(opened, 0, 1)).image
    assert picture.shape == opened.previous.shape and picture.dtype == np.uint8


def test_identity_and_reference_are_exact(opened):
    assert (_edit("identity", opened) == opened.previous).all()
    assert (_edit("reference", opened) == opened.reference).all()


def test_blank_has_one_value(opened):
    assert len(np.unique(_edit("blank", opened))) == 1


def test_inpaint_changes_only_the_roi(opened):
    for method in ("telea", "navier-stokes"):
        changed = (_edit(f"inpaint:method={method}", opened) != opened.previous).any(axis=2)
        assert changed.any() and not (changed & ~opened.roi).any()


def test_inpaint_refuses_a_full_roi(opened):
    opened.__dict__["roi"] = np.ones_like(opened.roi)
    with pytest.raises(Refused, match="whole picture"):
        _edit("inpaint", opened)


def test_noise_follows_its_seed(opened):
    assert (_edit("noise", opened, 1) == _edit("noise", opened, 1)).all()
    assert (_edit("noise", opened, 1) != _edit("noise", opened, 2)).any()


def test_stronger_blur_is_smoother(opened):
    def roughness(picture):
        return np.abs(np.diff(picture.astype(int), axis=1)).mean()

    sharp, soft = _edit("blur:sigma=1", opened), _edit("blur:sigma=6", opened)
    assert roughness(soft) < roughness(sharp) < roughness(opened.previous)


def test_sixteen_bits_stay_sixteen_bits(opened):
    deep = opened.previous.astype(np.uint16) * 257
    opened.__dict__["previous"] = deep
    for name in ("identity", "blur", "noise", "inpaint", "blank"):
        assert _edit(name, opened).dtype == np.uint16


def test_seeds_depend_on_run_case_and_k_only():
    seeds = {case_seed(s, c, k) for s in (0, 1) for c in ("1", "11", "a/b") for k in (0, 1)}
    assert len(seeds) == 12 and all(0 <= seed < 2**63 for seed in seeds)
    assert case_seed(0, "1", 0) == case_seed(0, "1", 0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("blurr", "did you mean 'blur'"),
        ("blur:sigma=thick", "sigma"),
        ("blur:sigma=-1", "greater than 0"),
        ("blur:radius=3", "no setting 'radius'; it has: sigma"),
        ("blur:sigma", "key=value"),
        ("none.py:X", "no such file"),
    ],
)
def test_mistakes_are_named(call, words):
    with pytest.raises(InputError, match=words):
        find_system(call)
