"""Results of another harness: matched by sample id, and what fails is a reason, not an answer."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import medebench as mb
from medebench.cases import Case, CaseSet
from medebench.errors import InputError
from medebench.runs.result_records import canonical, match_results
from tests.cli.test_cli import call

HERE = __file__
ASK, DRAW = "tableiv:VQA:question-answering:{:06d}", "tableiv:MultimodalGeneration:{}:000001"


def cases(text, progress, folder=None):
    from medebench.files import cache_folder

    path = cache_folder() / "results" / "in.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        Image.fromarray(np.full((16, 20, 3), 90, np.uint8)).save(path)

    def case(name, task, sample_id, **more):
        return Case(name, path, "What?", task=task, extra={"sample_id": sample_id}, **more)

    made = [
        case(f"vqa-question-answering-{n:06d}", "question-answering", ASK.format(n), answer="left")
        for n in range(1, 6)
    ]
    made.append(case("e1", "style-transfer", "medgen:ImageEditing:style-transfer:000009"))
    made.append(case("g1", "organic-removal", DRAW.format("organic-removal"), answer="gone"))
    return CaseSet("results", path.parent, tuple(made), text, task="medgen")


@pytest.fixture
def write(tmp_path):
    def written(*records, name="gpt.jsonl"):
        (tmp_path / "images").mkdir(exist_ok=True)
        Image.fromarray(np.zeros((16, 20, 3), np.uint8)).save(tmp_path / "images" / "a.png")
        path = tmp_path / name
        path.write_text("".join(json.dumps(one) + "\n" for one in records))
        return path

    return written


def record(n, response, **more):
    return {"sample_id": ASK.format(n), "response": response, "raw_response": "{}", **more}


def outputs(run):
    with run.ledger() as ledger:
        return {case_id: row for (case_id, _), row in ledger.outputs().items()}


def test_records_go_to_the_case_they_name(write, tmp_path):
    # In another order than the cases, one prefix changed, one by the id of the case itself.
    path = write(
        record(3, "three"),
        {"sample_id": "medgen:VQA:question_answer:000001", "response": "one"},
        {"sample_id": "vqa-question-answering-000002", "response": "two"},
        {
            "sample_id": "tableiv:ImageEdit:dye-transfer:000009",
            "response": "VLM Error: none",
            "output_image": "images/a.png",
        },
        {
            "sample_id": DRAW.format("organ_removal"),
            "response": "The shadow is gone.",
            "output_image": ["images\\a.png"],
        },
    )
    run = mb.adopt(path, f"{HERE}:cases", tmp_path / "run")
    texts = {path.stem: path.read_text() for path in run.edits.glob("*.txt")}
    assert texts == {
        "vqa-question-answering-000001_0": "one",
        "vqa-question-answering-000002_0": "two",
        "vqa-question-answering-000003_0": "three",
        "g1_0": "The shadow is gone.",
    }
    assert {path.name for path in run.edits.glob("*.png")} == {"e1_0.png", "g1_0.png"}
    assert run.info.editor == "gpt" and (run.info.cases.count, run.info.cases.of) == (5, 7)


def test_what_failed_is_a_reason_and_never_an_answer(write, tmp_path):
    image = {"sample_id": "e1", "response": ""}
    path = write(
        record(1, "VLM Error after 3 tries: timeout"),
        record(2, "Parsing Error: no JSON"),
        record(3, ""),
        record(4, {"text": "left"}),
        record(5, "API Errors are not what this answer is about."),
        image | {"output_image": "Edit Error: quota"},
        {"sample_id": "g1", "response": "Removed.", "output_image": "images/gone.png"},
    )
    run = mb.adopt(path, f"{HERE}:cases", tmp_path / "run")
    found = outputs(run)
    kinds = {name[-2:]: row.reason and row.reason.kind for name, row in found.items()}
    names = ["01", "02", "03", "04", "05", "e1", "g1"]
    assert [kinds.get(name, "none") for name in names] == [
        "error",
        "error",
        "no-output",
        "unreadable",
        None,
        "error",
        None,
    ]
    assert "no such file" in found["g1"].detail["without"]["image"]
    mb.score(run, "ssim,psnr")
    why = {row["case"]: row["reason"] for row in run.frame().iter_rows(named=True)}
    assert "images/gone.png: no such file" in why["g1"] and "quota" in why["e1"]
    assert not list(run.edits.glob("e1*"))


def test_repeated_unknown_and_missing_records_are_counted(write, tmp_path):
    path = write(
        record(1, "left"),
        record(1, "left"),
        record(2, "left"),
        record(2, "right"),
        record(99, "left"),
        {"response": "of nobody"},
    )
    done = call("adopt", path, "--cases", f"{HERE}:cases", "--out", tmp_path / "run")
    assert done.exit_code == 1, done.output
    for words in (
        "1 outputs, 2 of 7 cases, 1 failed",
        "2 records of this sample_id differ; keep one",
        f"2 records match no case (e.g. {ASK.format(99)}) and were ignored",
        "1 records repeat an earlier one and count once",
        "5 cases have no record; they are not part of the run",
    ):
        assert words in " ".join(done.stderr.split()), words
    again = call("adopt", path, "--cases", f"{HERE}:cases", "--out", tmp_path / "run", "--json")
    facts = json.loads(again.stdout)
    assert (facts["missing"], facts["repeated"], facts["unmatched"][1]) == (5, 1, "record 6")


def test_a_repaired_file_is_taken_again(write, tmp_path):
    first = [record(1, "VLM Error"), {"sample_id": "g1", "response": "A", "output_image": "b.png"}]
    run = mb.adopt(write(*first), f"{HERE}:cases", tmp_path / "run")
    (tmp_path / "b.png").write_bytes((tmp_path / "images" / "a.png").read_bytes())
    mb.adopt(write(record(1, "left"), first[1]), f"{HERE}:cases", tmp_path / "run")
    found = outputs(run)
    assert all(row.reason is None for row in found.values())
    assert "without" not in found["g1"].detail


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([], "has no records"),
        ([{"response": "x"}], "no record has a sample_id, and none is matched by its position"),
        ([record(77, "x")], f"it has '{ASK.format(77)}'; the cases are '{ASK.format(1)}'"),
        ([[1]], "record 1: expected an object"),
        (
            [{"sample_id": "e1", "output_image": "../secret.png"}],
            "'../secret.png' leaves the folder",
        ),
        ([{"sample_id": "e1", "output_image": "/etc/hostname"}], "leaves the folder"),
    ],
)
def test_what_cannot_be_taken_over_is_said_in_one_line(records, words, write, tmp_path):
    done = call("adopt", write(*records), "--cases", f"{HERE}:cases", "--out", tmp_path / "run")
    assert done.exit_code == 2 and words in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_link_out_of_the_folder_is_refused(write, tmp_path):
    path = write({"sample_id": "e1", "output_image": "images/link.png"})
    (tmp_path / "images" / "link.png").symlink_to("/etc/hostname")
    with pytest.raises(InputError, match="leaves the folder of the file"):
        mb.adopt(path, f"{HERE}:cases", tmp_path / "run")


def test_a_broken_line_is_named(write, tmp_path):
    path = write(record(1, "left"))
    path.write_text(path.read_text() + '{"sample_id": ')
    with pytest.raises(InputError, match=r"gpt.jsonl, line 2: not JSON"):
        mb.adopt(path, f"{HERE}:cases", tmp_path / "run")
    with pytest.raises(InputError, match="cannot be read"):
        mb.adopt(tmp_path / "none.jsonl", f"{HERE}:cases", tmp_path / "run")


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=5), one, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.fixed_dictionaries({"sample_id": _values | st.just("g1")}, optional={
    "response": _values, "output_image": _values})))  # fmt: skip
@settings(deadline=None, max_examples=150)
def test_whatever_a_record_holds_there_is_a_match_or_one_line(tmp_path_factory, records):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    try:
        found = match_results(path, cases("", None))
    except InputError as error:
        assert "\n" not in str(error)
        return
    assert set(found.files) <= {"g1"}
    assert len(found.unmatched) + found.repeated + 1 <= len(records) + 1


@given(st.text(max_size=40))
@settings(deadline=None)
def test_a_canonical_name_stays_as_it_is(name):
    assert canonical(canonical(name)) == canonical(name)
