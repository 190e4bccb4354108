"""What a plan may say, and what is said about one that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from medebench.errors import InputError
from medebench.stresstest.stress_plan import read_stress
from tests.stresstest.own_data import write_data, write_plan, write_table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_table(tmp_path, write_data(tmp_path))
    return tmp_path


def test_a_short_plan_and_its_defaults(folder):
    plan = read_stress(write_plan(folder))
    assert (plan.name, plan.task, plan.positive) == ("drains", "classification", "pneumothorax")
    assert (plan.editor, plan.encoder, plan.threshold) == (
        "radedit:microsoft/radedit",
        "biovil-t",
        0.2,
    )
    assert plan.out == folder / "stress-drains"
    assert [one.called for one in plan.predictors] == ["Classifier"]
    assert plan.predictors[0].model == f"{folder / 'mine.py'}:Classifier"
    assert plan.seed == 0


def test_everything_said(folder):
    said = {
        "name": "mine",
        "edit": {
            "prompt": "x",
            "label": "normal",
            "editor": "radedit:models/mine,steps=100",
            "limit": 3,
            "which": ["pneumothorax"],
        },
        "edit_score": {"encoder": "clip-vit-b32", "threshold": 0.3},
        "predictor": {"model": "mine.py:Classifier", "name": "ours", "threshold": 0.4},
        "reference": ["net.onnx:size=64,output=logit", {"command": ["python", "predict.py"]}],
        "seed": 7,
        "out": "results/mine",
    }
    plan = read_stress(write_plan(folder, **said))
    assert plan.editor == "radedit:models/mine,steps=100"
    assert (plan.encoder, plan.threshold, plan.seed) == ("clip-vit-b32", 0.3, 7)
    assert plan.out == folder / "results" / "mine"
    mine, onnx, command = plan.predictors
    assert (mine.called, mine.threshold, mine.what) == ("ours", 0.4, "python")
    assert (onnx.called, onnx.what) == ("net", "onnx")
    assert onnx.model == str(folder / "net.onnx")
    assert onnx.settings == {"size": "64", "output": "logit"}
    assert (command.called, command.what) == ("predict", "command")
    assert command.folder == str(folder)


@pytest.mark.parametrize("off", ["none", False])
def test_edits_need_not_be_scored(folder, off):
    assert read_stress(write_plan(folder, edit_score=off)).encoder == ""


def test_a_plan_from_elsewhere_and_another_target(folder, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    target = Path("there")
    plan = read_stress(write_plan(folder), target)
    assert plan.out == target.absolute()
    assert len(plan.load().samples) == 6


def test_an_editor_of_the_user_s_own_is_seen_from_the_plan(folder):
    (folder / "models" / "mine").mkdir(parents=True)

    def editor(text: str) -> str:
        return read_stress(write_plan(folder, edit={"prompt": "x", "editor": text})).editor

    assert editor("radedit:models/mine,steps=5") == f"radedit:{folder}/models/mine,steps=5"
    assert editor("radedit:owner/model,steps=5") == "radedit:owner/model,steps=5"
    assert editor("blur:sigma=4") == "blur:sigma=4"
    assert editor("own.py:Editor:size=3") == f"{folder}/own.py:Editor:size=3"
    # Settings that name the user's own files, wherever they stand.
    (folder / "seg.py").write_text("")
    assert (
        editor("radedit:model=models/mine,steps=5,segmenter=seg.py:Lungs,edit_masks=edit")
        == f"radedit:model={folder}/models/mine,steps=5,segmenter={folder}/seg.py:Lungs"
        f",edit_masks={folder}/edit"
    )
    assert (
        editor("radedit:models/mine, keep_masks=keep/")
        == f"radedit:{folder}/models/mine, keep_masks={folder}/keep"
    )
    assert editor("radedit:model=owner/model,base=edit") == "radedit:model=owner/model,base=edit"
    assert editor("own.py:Editor:model=models/mine") == (
        f"{folder}/own.py:Editor:model={folder}/models/mine"
    )
    assert editor("chest-editor") == "chest-editor"


WRONG = [
    ({"task": "clasification"}, "task: input should be 'classification' or 'segmentation'"),
    ({"data": None}, "data: is missing"),
    (
        {"edit": {"promt": "x"}},
        "edit.promt: no such field; there are: which, prompt, prompt_column",
    ),
    ({"colums": {}}, "colums: no such field; there are: data, name, root, columns"),
    ({"columns": {"images": "x"}}, "columns.images: no such field; there are: id, image"),
    ({"positive": None}, "positive: is missing"),
    ({"positive": True}, "positive: is read as the boolean true"),
    ({"edit": {"prompt": "x", "limit": 0}}, "edit.limit: input should be greater than or equal"),
    ({"edit": {"kinds": [{"prompt": "x"}]}}, "edit.kinds.0.kind: is missing"),
    ({"edit": {"prompt": "x", "which": []}}, "edit.which: is empty; name labels, or leave it"),
    ({"edit": {"prompt": "x", "edit_mask": ""}}, "edit.edit_mask: is empty; name a column, a"),
    ({"edit": {"prompt": "x", "keep_mask": " "}}, "edit.keep_mask: is empty; name a column, a"),
    ({"edit": {"prompt": "x", "reference": ""}}, "edit.reference: is empty; name a column, a"),
    ({"columns": {"mask": ""}}, "columns.mask: is empty; name a column, a folder or a file"),
    ({"edit": {"prompt": "x", "prompt_column": "y"}}, "edit: prompt and prompt_column: "),
    (
        {"edit": {"kinds": [{"kind": "a", "prompt": "x", "prompt_column": "y"}]}},
        "edit.kinds.0: prompt and prompt_column: ",
    ),
    ({"edit": {"kinds": ["oedema"]}}, "edit.kinds.0: expected fields such as 'kind:' and 'which:'"),
    ({"edit": "x"}, "edit: expected fields such as 'which:' and 'prompt:'"),
    ({"columns": "file"}, "columns: expected fields such as 'id:' and 'image:'"),
    ({"edit_score": [1]}, "edit_score: expected fields such as 'encoder:' and 'threshold:'"),
    ({"reference": 5}, "reference.0: expected fields such as 'model:' and 'command:'"),
    (
        {"predictor": {"model": "a.onnx", "settings": 3}},
        "predictor.settings: expected fields such as 'name:'",
    ),
    ({"edit": {"kinds": [{"kind": "a/b"}]}}, "kind: 'a/b' holds '/'"),
    ({"edit": {"kinds": [{"kind": "a"}, {"kind": "a"}]}}, "edit.kinds: two kinds are called 'a'"),
    ({"edit_score": {"encoder": "biovil"}}, "edit_score.encoder: no encoder 'biovil'; did you"),
    ({"edit_score": "rad-dino"}, "edit_score.encoder: rad-dino has no text encoder"),
    ({"edit_score": {"threshold": 2}}, "edit_score.threshold: input should be less than or equal"),
    ({"predictor": {"name": "x"}}, "predictor: give exactly one of 'model' or 'command'"),
    (
        {"predictor": {"model": "a.onnx", "command": ["b"]}},
        "predictor: give exactly one of 'model' or 'command'",
    ),
    ({"predictor": {"command": "python 'oops"}}, "predictor: no closing quotation"),
    ({"predictor": "a.onnx:size"}, "predictor: 'a.onnx:size': expected name:key=value"),
    ({"predictor": {"model": "a.onnx", "threshold": 1}}, "predictor.threshold: input should be"),
    ({"reference": "mine.py:Classifier"}, "two predictors are called 'Classifier'; give one"),
    ({"name": "a/b"}, "name: 'a/b' holds '/'"),
    ({"seed": -1}, "seed: input should be greater than or equal to 0"),
]


@pytest.mark.parametrize(("changes", "words"), WRONG, ids=[words[:40] for _, words in WRONG])
def test_one_line_that_names_file_and_field(folder, changes, words):
    path = write_plan(folder, **changes)
    with pytest.raises(InputError) as caught:
        read_stress(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: ") and "\n" not in said
    assert words in said
    assert not (folder / "stress-drains").exists()


def test_what_is_no_plan(tmp_path):
    with pytest.raises(InputError, match=r"manifestatio: no such stress plan; did you mean"):
        read_stress("manifestatio")
    (tmp_path / "a.yaml").write_text("- 1\n")
    with pytest.raises(InputError, match="expected fields such as 'data:'"):
        read_stress(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").write_text("data: [\n")
    with pytest.raises(InputError, match=r"line 2, column 1: not YAML"):
        read_stress(tmp_path / "b.yaml")


def test_predictors_are_looked_at_before_any_work(folder):
    path = write_plan(folder, reference={"model": "net.onnx", "settings": {"output": "logit"}})
    with pytest.raises(InputError) as caught:
        read_stress(path).find_predictors()
    said = str(caught.value)
    assert said.startswith(f"{path}: predictor net") and "\n" not in said
    assert "net.onnx: no such file" in said or "needs onnxruntime" in said
    made = read_stress(write_plan(folder)).find_predictors()
    assert [one.name for one in made] == ["Classifier"]


def test_yaml_labels_that_are_numbers(folder):
    rows = write_data(folder)
    for row in rows:
        row["label"] = "1" if row["label"] == "pneumothorax" else "0"
    write_table(folder, rows)
    path = write_plan(folder, positive=1, edit={"prompt": "no pneumothorax", "label": 0})
    assert yaml.safe_load(path.read_text())["positive"] == 1
    stress = read_stress(path).load()
    assert stress.positive == "1"
    assert {one.label for one in stress.intended} == {"0"}
