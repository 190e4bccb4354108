"""A recipe is what a user would bring: the plan reads it, and its predictors answer."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from medebench.errors import BusyError, InputError, MedebenchError
from medebench.images.picture import read_mask, read_picture
from medebench.phantoms.chest.captions import caption
from medebench.phantoms.chest.chest_edit import ADDED, SHIFTS, member
from medebench.phantoms.recipes.recipe_files import write_recipe
from medebench.phantoms.recipes.recipe_predictors import (
    TEST,
    TrainJob,
    TrainSettings,
    train_in_processes,
)
from medebench.stresstest.predictors import ask
from medebench.stresstest.stress_plan import read_stress

TINY = TrainSettings(patients=4, epochs=1, batch=2)
EDITOR = "radedit:somewhere,steps=20"


def write(shift, folder, **changes):
    given = {"count": 4, "seed": 3, "editor": EDITOR, "training": TINY, "apart": False}
    return write_recipe(shift, folder, **{**given, "encoder": "", **changes})


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("recipes")
    for shift in SHIFTS:
        write(shift, folder / shift)
    return folder


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    found = (path for path in found if path.parent.name != "__pycache__")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def words(drawn):
    return caption(drawn.spec, hospital=True)


@pytest.mark.parametrize("shift", SHIFTS)
def test_the_plan_reads_what_was_drawn(written, shift):
    plan = read_stress(written / shift / "plan.yaml")
    stress = plan.load()
    assert (plan.name, plan.editor, plan.encoder) == (shift, EDITOR, "")
    assert len(stress.samples) == 4
    members = [member(shift, TEST + 3, index) for index in range(4)]
    for sample, one in zip(stress.samples, members, strict=True):
        assert (read_picture(sample.image)[..., 0] == one.drawn.picture).all()
        assert (sample.label, sample.caption) == (one.label, words(one.drawn))
        if shift == "population":
            assert sample.mask is not None
            assert ((read_mask(sample.mask) > 127) == one.drawn.masks["lungs"]).all()
    wanted = {
        (f"p{index:04d}", edit.thing.name if shift == "population" else ""): edit
        for index, one in enumerate(members)
        for edit in one.edits
    }
    assert {(one.sample.id, one.kind) for one in stress.intended} == set(wanted)
    for one in stress.intended:
        edit = wanted[one.sample.id, one.kind]
        assert one.prompt == words(edit.after)
        assert one.edit and one.keep and one.reference
        assert ((read_mask(one.edit) > 127) == edit.edit).all()
        assert ((read_mask(one.keep) > 127) == edit.keep).all()
        assert (read_picture(one.reference)[..., 0] == edit.after.picture).all()


def test_what_is_edited_and_what_is_true_then(written):
    for shift, ill, healthy in (
        ("acquisition", "opacities", "clear"),
        ("manifestation", "pneumothorax", "no pneumothorax"),
    ):
        stress = read_stress(written / shift / "plan.yaml").load()
        assert stress.positive == ill
        assert [one.label for one in stress.samples] == [ill, healthy] * 2
        assert [one.sample.label for one in stress.intended] == [ill] * 2
        assert {one.label for one in stress.intended} == {healthy}
    plan = read_stress(written / "population" / "plan.yaml")
    assert [one.prompt_column for one in plan.model.edit.kinds] == [
        f"{one}_prompt" for one in ADDED
    ]
    stress = plan.load()
    assert [one.kind for one in stress.intended] == [kind for kind in ADDED for _ in range(4)]


@pytest.mark.parametrize("shift", SHIFTS)
def test_its_predictors_are_found_as_a_users_own(written, shift):
    plan = read_stress(written / shift / "plan.yaml")
    samples = plan.load().samples
    predictors = plan.find_predictors()
    names = ["weak", "strong"] if shift == "population" else ["biased", "unbiased"]
    assert [one.name for one in predictors] == names
    assert len({one.identity for one in predictors}) == 2
    pictures = [read_picture(one.image) for one in samples]
    for one in predictors:
        for answer in ask(one, [each.id for each in samples], pictures):
            if shift == "population":
                assert isinstance(answer, np.ndarray) and answer.shape == (128, 128)
            else:
                assert isinstance(answer, float) and 0 < answer < 1
        one.close()


def test_another_time_gives_the_same_files(written, tmp_path):
    write("manifestation", tmp_path / "again")
    assert files(tmp_path / "again") == files(written / "manifestation")


def test_what_is_there_is_not_done_again(written, tmp_path):
    folder = tmp_path / "recipe"
    shutil.copytree(written / "acquisition", folder)
    whole = files(folder)
    (folder / "unbiased.safetensors").unlink()
    (folder / "data" / "images" / "p0001.png").write_bytes(b"mine")
    (folder / "plan.yaml").write_text("mine")
    done: list[tuple[int, int]] = []
    write("acquisition", folder, progress=lambda *now: done.append(now))
    # 4 pictures and 4 patients + 2 steps twice; of these one predictor was to be trained.
    assert done[0] == (4, 16) and done[-1] == (16, 16) and len(done) == 2 + 6
    there = files(folder)
    assert there["unbiased.safetensors"] == whole["unbiased.safetensors"]
    assert (there["data/images/p0001.png"], there["plan.yaml"]) == (b"mine", b"mine")


def test_another_editor_writes_only_the_plan(written, tmp_path):
    folder = tmp_path / "recipe"
    shutil.copytree(written / "acquisition", folder)
    whole = files(folder)
    write("acquisition", folder, editor="identity", encoder="biovil-t")
    there = files(folder)
    assert {name for name in there if there[name] != whole[name]} == {"plan.yaml", "recipe.json"}
    plan = read_stress(folder / "plan.yaml")
    assert (plan.editor, plan.encoder) == ("identity", "biovil-t")


def test_one_folder_holds_one_recipe(written, tmp_path):
    folder = written / "acquisition"
    before = files(folder)
    for change, told in (({"count": 6}, "count"), ({"seed": 4}, "seed")):
        with pytest.raises(InputError, match=f"another {told}"):
            write("acquisition", folder, **change)
    with pytest.raises(InputError, match="another shift"):
        write("manifestation", folder)
    assert files(folder) == before
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="contains other files"):
        write("acquisition", other)
    with pytest.raises(InputError, match="is a file"):
        write("acquisition", other / "notes.txt")
    shutil.copytree(folder, tmp_path / "damaged")
    (tmp_path / "damaged" / "recipe.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        write("acquisition", tmp_path / "damaged")


def test_a_second_process_waits(tmp_path):
    from filelock import FileLock

    with FileLock(tmp_path / ".recipe.lock"), pytest.raises(BusyError):
        write("acquisition", tmp_path / "recipe")


@pytest.mark.parametrize(
    ("shift", "change", "told"),
    [
        ("drift", {}, "acquisition, manifestation, population"),
        ("acquisition", {"count": 1}, "count=1"),
        ("acquisition", {"seed": -1}, "seed=-1"),
        ("acquisition", {"seed": 5000}, "seed=5000"),
    ],
)
def test_a_wrong_call_writes_nothing(tmp_path, shift, change, told):
    with pytest.raises(InputError, match=told):
        write(shift, tmp_path / "recipe", **change)
    assert list(tmp_path.iterdir()) == []


def test_a_process_of_its_own_gives_the_same_weights(written, tmp_path):
    job = TrainJob("manifestation", "biased", 3, TINY)
    ticks: list[None] = []
    train_in_processes([(job, tmp_path / "w.safetensors")], lambda: ticks.append(None))
    assert len(ticks) == job.ticks
    here = written / "manifestation" / "biased.safetensors"
    assert (tmp_path / "w.safetensors").read_bytes() == here.read_bytes()


def test_a_process_that_fails_is_told(tmp_path):
    wrong = TrainJob("drift", "biased", 0, TINY)  # type: ignore[arg-type]
    with pytest.raises(MedebenchError, match="KeyError: 'drift'"):
        train_in_processes([(wrong, tmp_path / "w")], lambda: None)
    assert list(tmp_path.iterdir()) == []
