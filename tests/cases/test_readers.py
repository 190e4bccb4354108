"""Reading case sets: spellings, layouts, and one line for every mistake."""

from __future__ import annotations

import json
import shutil

import pytest

from medebench.cases import load_cases
from medebench.errors import InputError
from tests.conftest import write_set

PAPER_KEYS = {
    "id": "Id",
    "prompt": "Prompt",
    "rephrased_prompt": "Rephrased_prompt",
    "detailed_prompt": "Detailed_description",
    "previous_image": "Previous_image",
    "changed_image": "GroundTruth_image",
    "previous_mask": "ROI_mask",
}


def _metadata(folder):
    return folder / "editing" / "editing_metadata.json"


def _rewrite(folder, change):
    value = json.loads(_metadata(folder).read_text())
    change(value["samples"])
    _metadata(folder).write_text(json.dumps(value))


@pytest.mark.parametrize("place", [".", "editing", "editing/editing_metadata.json"])
def test_release_by_folder_subfolder_or_file(small_set, place):
    cases = load_cases(small_set / place)
    assert [case.id for case in cases] == ["1", "2", "3", "4"]
    assert cases["2"].previous == small_set / "editing/previous/2.png"
    assert cases["2"].organ == "Teeth" and cases["2"].description


def test_both_spellings_are_the_same_cases(small_set):
    expected = load_cases(small_set)
    _rewrite(
        small_set,
        lambda samples: samples.__setitem__(
            slice(None), [{PAPER_KEYS.get(k, k): v for k, v in s.items()} for s in samples]
        ),
    )
    found = load_cases(small_set)
    assert found.cases == expected.cases
    assert found.fingerprint == expected.fingerprint


def test_excerpt_is_read_whole(excerpt):
    cases = load_cases(excerpt)
    assert len(cases) == 69 and len({case.organ for case in cases}) == 13


def test_fingerprint_follows_content_not_place(small_set, tmp_path):
    before = load_cases(small_set).fingerprint
    copy = shutil.copytree(small_set, tmp_path / "elsewhere")
    assert load_cases(copy).fingerprint == before
    _rewrite(copy, lambda samples: samples.reverse())
    assert load_cases(copy).fingerprint == before
    _rewrite(copy, lambda samples: samples[0].update(prompt="Another one."))
    changed = load_cases(copy).fingerprint
    assert changed != before
    shutil.copy(copy / "editing/previous/1.png", copy / "editing/previous/2.png")
    assert load_cases(copy).fingerprint not in (before, changed)


@pytest.fixture
def plain(small_set, tmp_path):
    folder = tmp_path / "plain"
    for old, new in [("previous", "previous"), ("changed", "reference"), ("previous_mask", "roi")]:
        shutil.copytree(small_set / "editing" / old, folder / new)
    return folder


def test_plain_folder_with_csv(plain):
    (plain / "cases.csv").write_text(
        "id,prompt,organ,task\n1,Remove it.,Skin,Moles\n2,Ärzte 修正 🦷,Teeth,Whiten\n",
        encoding="utf-8",
    )
    cases = load_cases(plain)
    assert [case.prompt for case in cases] == ["Remove it.", "Ärzte 修正 🦷"]
    assert cases["1"].reference == plain / "reference/1.png"
    assert cases["2"].roi == plain / "roi/2.png"


def test_plain_folder_with_jsonl_and_explicit_paths(plain):
    record = {"id": "a", "prompt": "Do it now.", "previous": "previous/3.png", "bits": 12}
    (plain / "cases.jsonl").write_text(json.dumps(record) + "\n")
    case = load_cases(plain)["a"]
    assert case.previous == plain / "previous/3.png" and case.bits == 12 and case.roi is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s[1].update(id=1), ["case 1", "'id'", "earlier"]),
        (lambda s: s[1].update(id="../evil"), ["'id'", "begins with"]),
        (lambda s: s[1].update(id="a/b"), ["record 2", "'id'", "'/'"]),
        (lambda s: s[1].update(id=""), ["'id'", "missing"]),
        (lambda s: s[1].update(id=1.5), ["'id'", "number"]),
        (lambda s: s[1].update(previous_image="../../x.png"), ["case 2", "'previous'", "leaves"]),
        (lambda s: s[1].update(previous_image="/etc/passwd"), ["'previous'", "leaves"]),
        (lambda s: s[1].update(changed_image="editing/none.png"), ["'reference'", "no such file"]),
        (lambda s: s[1].update(previous_mask=["x"]), ["'roi'", "a list"]),
        (lambda s: s[1].update(prompt=7), ["'prompt'", "a number"]),
        (lambda s: s[1].pop("prompt"), ["'prompt'", "missing"]),
        (lambda s: s[1].update(prompt="\ud800"), ["'prompt'", "surrogate"]),
        (lambda s: s[1].update(bits=40), ["'bits'", "9 to 16"]),
        (lambda s: s.__setitem__(1, "text"), ["record 2", "object"]),
    ],
)
def test_bad_record_is_one_line_that_names_file_field_and_remedy(small_set, change, words):
    _rewrite(small_set, change)
    with pytest.raises(InputError) as caught:
        load_cases(small_set)
    line = str(caught.value)
    assert "\n" not in line and str(_metadata(small_set)) in line and "cases check" in line
    for word in words:
        assert word in line
    lenient = load_cases(small_set, strict=False)
    assert len(lenient) == 3 and len(lenient.problems) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"samples": [', "line 1"),
        ('{"samples": 3}', "'samples'"),
        ('"hello"', "list of cases"),
        ('{"samples": [{"id": NaN}]}', "NaN"),
        ("[" * 100_000, "nested"),
        ('{"samples": []}', "no case"),
    ],
)
def test_bad_metadata_is_one_line(small_set, text, words):
    _metadata(small_set).write_text(text)
    with pytest.raises(InputError, match=words):
        load_cases(small_set)


def test_latin1_metadata(small_set):
    _metadata(small_set).write_bytes(b'{"samples": ["\xe9"]}')
    with pytest.raises(InputError, match="UTF-8"):
        load_cases(small_set)


def test_link_out_of_the_set_is_refused(small_set, tmp_path):
    (tmp_path / "secret.png").write_bytes(b"x")
    target = small_set / "editing/previous/2.png"
    target.unlink()
    target.symlink_to(tmp_path / "secret.png")
    with pytest.raises(InputError, match="leaves"):
        load_cases(small_set)


@pytest.mark.parametrize("content", [None, "several"])
def test_folder_that_is_no_set(tmp_path, content):
    folder = tmp_path / "f"
    folder.mkdir()
    if content:
        (folder / "a.csv").write_text("id\n")
        (folder / "b.csv").write_text("id\n")
    with pytest.raises(InputError, match="several tables" if content else "not a set of cases"):
        load_cases(folder)


def test_csv_with_too_many_cells(plain):
    (plain / "cases.csv").write_text("id,prompt\n1,Remove it,please\n")
    with pytest.raises(InputError, match="line 2"):
        load_cases(plain)


def test_select(small_set):
    cases = load_cases(small_set)
    assert [c.id for c in cases.select(organs=["teeth"])] == ["2", "4"]
    assert [c.id for c in cases.select(limit=1)] == ["1"]
    with pytest.raises(InputError, match="no case of organ nose"):
        cases.select(organs=["Nose"])
    with pytest.raises(InputError, match="no case 'x'"):
        cases["x"]


def test_hub_is_never_fetched_unasked():
    with pytest.raises(InputError, match="cases get"):
        load_cases("hub:owner/name")


def test_ids_that_differ_only_by_case_would_share_a_file(tmp_path):
    folder = write_set(tmp_path / "s", 2)
    _rewrite(folder, lambda s: (s[0].update(id="a"), s[1].update(id="A")))
    with pytest.raises(InputError, match="earlier"):
        load_cases(folder)


@pytest.mark.parametrize("bad", ["CON", "nul", "com1.png", "a.", "LPT9"])
def test_names_windows_keeps_for_itself(bad):
    from medebench.cases.case import id_problem

    assert id_problem(bad) is not None


def test_accents_put_together_differently_are_the_same_name(tmp_path):
    folder = write_set(tmp_path / "s", 2)
    _rewrite(folder, lambda s: (s[0].update(id="\u00e9"), s[1].update(id="e\u0301")))
    with pytest.raises(InputError, match="earlier"):
        load_cases(folder)
