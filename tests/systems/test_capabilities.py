"""What a class must and may have to be a system, and what becomes of a misspelt name."""

from __future__ import annotations

import textwrap

import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.errors import InputError
from medebench.systems import SYSTEMS, find_system, system_class
from medebench.systems.capabilities import CAPABILITIES, as_system


def made(**body):
    return type("Mine", (mb.System,), {"generate": lambda self, request: "yes", **body})


def stranger(**body):
    return type("Mine", (), {"edit": lambda self, request: request.case.previous, **body})


def refusal(kind):
    with pytest.raises(InputError) as caught:
        as_system("mine.py:Mine", kind)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("problem", "problems"),
        ("prepair", "prepare"),
        ("summry", "summary"),
        ("at_onces", "at_once"),
        ("demonstration", "demonstrations"),
        ("generate_batches", "generate_batch"),
        ("Setting", "Settings"),
        ("colse", "close"),
    ],
)
def test_a_misspelt_capability_is_refused(name, meant):
    for kind in (made(**{name: 1}), stranger(**{name: 1})):
        assert f"'{name}' in Mine" in refusal(kind)
        assert f"did you mean '{meant}'?" in refusal(kind)


def test_with_our_base_every_other_public_name_is_refused():
    said = refusal(made(temperature=0.5))
    assert "'temperature' in Mine" in said and "begin with _" in said
    assert "at_once" in said and "problems" in said
    assert as_system("mine", made(_temperature=0.5)).gives == ("image",)
    # Of a class in between, too.
    assert "'colour' in Mine" in refusal(type("More", (made(colour="red"),), {"summary": "more"}))


@pytest.mark.parametrize(
    "name",
    [
        "closed",
        "shared",
        "batches",
        "generator",
        "examples",
        "controls",
        "prepared",
        "estimator",
        "reset",
        "shape",
        "match",
        "seed",
        "editor",
        "identify",
        "temperature",
        "batch_size",
        "settings",
        "load",
        "model",
        "need",
        "see",
        "give",
        "test",
        "clone",
    ],
)
def test_other_words_of_a_class_without_our_base_are_its_own(name):
    assert issubclass(as_system("mine", stranger(**{name: 1})), mb.Editor)


def test_names_of_a_mixin_count_as_a_strangers():
    mixin = type("Mixin", (), {"helper": 1})
    as_system("mine", type("Mine", (mixin, mb.System), {"generate": lambda self, request: ""}))
    mixin.problem = lambda self: []
    kind = type("Mine", (mixin, mb.System), {"generate": lambda self, request: ""})
    assert "'problem' in Mixin" in refusal(kind)


def test_the_names_are_those_of_the_design():
    data = {"summary", "Settings", "gives", "sees", "control", "argument", "rest", "needs"}
    data |= {"example", "at_once", "batch", "demonstrations", "judged_by", "takes"}
    data |= {"least_demonstrations", "input_shown"}
    methods = {"problems", "prepare", "close", "share", "identity", "estimate", "written_inner"}
    methods |= {"generate", "generate_batch", "edit", "edit_batch"}
    assert set(CAPABILITIES) == data | methods


@pytest.mark.parametrize("name", SYSTEMS.own_names())
def test_built_in_systems_keep_to_the_same_rule(name):
    kind = SYSTEMS.find(name)
    assert issubclass(kind, mb.System)
    assert system_class(name) is SYSTEMS.find(name)


def test_a_system_must_do_something():
    assert "neither generate(request) nor edit(request)" in refusal(type("Mine", (), {}))
    assert "neither generate" in refusal(type("Mine", (mb.System,), {}))
    assert "neither generate" in refusal(type("Mine", (mb.Editor,), {"summary": "idle"}))
    assert "neither generate" in refusal(lambda settings: None)


@pytest.mark.parametrize("gives", ["text", ("sound",), ("image", "words"), 3, ()])
def test_what_it_gives_is_checked(gives):
    assert "gives: expected" in refusal(made(gives=gives))


OWN = """
import numpy as np
import medebench as mb


class Old:
    # A generate of its own, which is nobody's business.
    def __init__(self, settings):
        super().__init__()
        self.settings = settings

    def generate(self, colour, size):
        return np.full(size, colour, np.uint8)

    def edit(self, request):
        picture = self.generate(7, request.case.previous.shape)
        return mb.Edit(picture, {"steps": 3}, attempts=(picture, picture))


class Bare:
    def edit(self, request):
        return request.case.previous


class WithBase(mb.System):
    def edit(self, request):
        return request.case.previous


class Word(mb.Editor):
    class Settings(mb.Settings):
        how = frozenset({"depth"})
        runtime_only = frozenset({"width"})
        depth: int = 1
        width: int = 2
        colour: str = "red"

    def edit(self, request):
        return mb.Output(request.case.previous, detail={"colour": self.settings.colour})


class Device(mb.System):
    batch = 3

    def generate_batch(self, requests):
        refused = mb.Refused("not the second")
        outputs = [mb.Output(one.case.previous, detail={"of": len(requests)}) for one in requests]
        return [refused if one.case.case.id == "2" else out
                for one, out in zip(requests, outputs, strict=True)]

    def generate(self, request):
        raise AssertionError("it owns a device")


class NoDevice:
    batch = "of its own"

    def edit(self, request):
        return request.case.previous


class Typo(mb.Editor):
    def edit(self, request):
        return request.case.previous

    def problms(self):
        return ["never asked"]
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(textwrap.dedent(OWN))
    return path


def outputs(run):
    with run.ledger() as ledger:
        return ledger.outputs()


def test_editors_of_every_kind_run(own, small_set, tmp_path):
    for name in ("Bare", "WithBase", "Word", "NoDevice"):
        run = mb.edit(small_set, f"{own}:{name}", out=tmp_path / name)
        assert all(row.reason is None for row in outputs(run).values()), name
        assert run.info.gives == ["image"] and run.info.task == "editing"
    assert run.info.editor == "NoDevice" and find_system(f"{own}:NoDevice").noun == "editor"


def test_an_old_editor_works_as_it_did(own, small_set, tmp_path):
    run = mb.edit(small_set, f"{own}:Old", out=tmp_path / "run")
    rows = outputs(run)
    assert {row.detail["steps"] for row in rows.values()} == {3}
    case_id, k = next(iter(rows))
    assert run.attempt_path(case_id, k, 1).is_file()
    assert type(find_system(f"{own}:Old").system) is type(find_system(f"{own}:Old").system)


def test_settings_of_runtime_by_both_names(own):
    found = find_system(f"{own}:Word:colour=blue,depth=5")
    assert found.runtime_only == {"depth": 5, "width": 2} and found.settings == {"colour": "blue"}


def test_a_device_is_asked_in_batches(own, small_set, tmp_path):
    assert find_system(f"{own}:Device").is_batched
    assert not find_system(f"{own}:NoDevice").is_batched
    run = mb.generate(small_set, f"{own}:Device", out=tmp_path / "run")
    rows = outputs(run)
    assert rows["2", 0].reason == "not the second"
    assert {row.detail.get("of") for key, row in rows.items() if key[0] != "2"} <= {1, 2, 3}


def test_a_misspelt_one_ends_the_command_with_2(own, small_set, tmp_path):
    out = tmp_path / "run"
    words = ["edit", str(small_set), "--editor", f"{own}:Typo", "--out", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2 and not out.exists()
    assert "did you mean 'problems'?" in done.stderr and "Traceback" not in done.stderr


def test_defaults_of_the_base():
    one = made()(None)
    assert one.problems() == [] and one.identity() == "" and not one.share(one)
    assert one.estimate([]) is None and one.written_inner() is None
    assert (one.batch, one.at_once, one.demonstrations, one.sees) == (None, None, 0, ())
