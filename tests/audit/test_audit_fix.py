"""The repaired copy: what needs no repair stays byte for byte, the rest is repaired."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from medebench.audit import audit, fix
from medebench.cases import load_cases
from medebench.cases.caseset import CaseSet
from medebench.cases.readers import medebench_release
from medebench.errors import InputError
from medebench.images.picture import read_mask, read_picture
from medebench.stamp import STAMP
from tests.audit.drafts import Draft, region, scene, with_chunk
from tests.conftest import draw, write_set


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def reload(out: Path) -> CaseSet:
    return medebench_release.read(out / "editing" / medebench_release.METADATA)


def samples(out: Path) -> list[dict[str, Any]]:
    text = (out / "editing" / medebench_release.METADATA).read_text("utf-8")
    records: list[dict[str, Any]] = json.loads(text)["samples"]
    return records


def test_a_clean_set_is_copied_byte_for_byte(tmp_path: Path) -> None:
    draft = Draft(tmp_path / "set")
    cases = draft.read()
    before = hashes(draft.root)
    steps: list[tuple[int, int]] = []
    done = fix(cases, tmp_path / "out", progress=lambda at, total: steps.append((at, total)))
    assert (done.cases, done.copied, done.repairs, done.left_out) == (4, 12, (), ())
    after = hashes(tmp_path / "out")
    assert before == hashes(draft.root)
    assert [r["id"] for r in samples(tmp_path / "out")] == [1, 2, 3, 4]
    metadata = f"editing/{medebench_release.METADATA}"
    assert {k: v for k, v in before.items() if k != metadata} == {
        k: v for k, v in after.items() if k not in (metadata, STAMP)
    }
    assert reload(tmp_path / "out").fingerprint == cases.fingerprint
    assert steps[-1] == (4, 4)


def spoilt(root: Path) -> Draft:
    draft = Draft(root, 12)
    draft.save(1, "previous_mask", region(0)[:-1])
    draft.save(2, "previous_mask", np.repeat(region(1)[..., None], 3, 2))
    draft.save(3, "previous_mask", region(2) // 255)
    draft.save(4, "changed", Image.fromarray(draft.pixels(4, "changed")).resize((48, 40)))
    exif = Image.Exif()
    exif[315], exif[0x0112] = "Jane Doe", 6
    lying = Image.fromarray(np.ascontiguousarray(np.rot90(scene(5))))
    draft.save(5, "previous", lying, format="JPEG", quality=95, exif=exif)
    draft.save(6, "previous", Image.fromarray(scene(6)).convert("P"))
    data = draft.path(7, "changed").read_bytes()
    draft.write(7, "changed", with_chunk(data, b"tEXt", b"Comment\0ward 3"))
    deep = draft.pixels(8, "previous").astype(np.uint16) * 257
    draft.write(8, "previous", cv2.imencode(".png", deep[..., ::-1])[1].tobytes())
    draft.save(9, "previous_mask", np.zeros_like(region(0)))
    draft.write(10, "changed", draft.path(10, "changed").read_bytes()[:200])
    alpha = np.full((80, 96, 1), 100, np.uint8)
    draft.save(11, "previous", np.concatenate([scene(11), alpha], axis=2))
    draft.records[11]["previous_image"] = "editing/previous/none.png"
    # The masks of the later cases would lie outside the picture.
    for case_id in (5, 6, 7, 8, 10, 11, 12):
        draft.save(case_id, "previous_mask", region(case_id % 4))
        mask = region(case_id % 4) > 127
        if case_id not in (7, 10):
            after = scene(case_id)
            after[mask] = 255 - after[mask]
            draft.save(case_id, "changed", after)
    return draft


def test_the_copy_has_no_error_and_nothing_that_was_repaired(tmp_path: Path) -> None:
    draft = spoilt(tmp_path / "set")
    cases = draft.read()
    before = hashes(draft.root)
    first = {finding.code for finding in audit(cases).findings}
    repairable = {
        "mask-size",
        "mask-mode",
        "mask-zero-one",
        "reference-size",
        "personal-metadata",
        "exif-rotation",
        "colour-mode",
        "transparency",
        "roi-empty",
        "truncated-image",
        "missing-file",
    }
    assert repairable <= first
    done = fix(cases, tmp_path / "out")
    assert before == hashes(draft.root)
    assert {one.case for one in done.left_out} == {"9", "10", "12"}
    assert done.cases == 9
    again = audit(reload(tmp_path / "out"))
    assert again.errors == 0
    assert not repairable & {finding.code for finding in again.findings}
    assert {repair.case for repair in done.repairs} == {"1", "2", "3", "4", "5", "6", "7", "11"}
    assert json.loads(json.dumps(done.to_json()))["cases"] == 9
    assert not any("9.png" in name or "10.png" in name for name in hashes(tmp_path / "out"))


def test_what_a_reader_sees_stays_the_same(tmp_path: Path) -> None:
    cases = spoilt(tmp_path / "set").read()
    fix(cases, tmp_path / "out")
    for case in reload(tmp_path / "out"):
        np.testing.assert_array_equal(
            read_picture(case.previous), read_picture(cases[case.id].previous)
        )
        assert case.roi is not None
        mask = read_mask(case.roi)
        assert mask.shape == read_picture(case.previous).shape[:2]
        assert set(np.unique(mask)) == {0, 255}
        assert case.texts() == cases[case.id].texts()
    eighth = read_picture(reload(tmp_path / "out")["8"].previous)
    assert eighth.dtype == np.uint16
    assert b"Jane" not in (tmp_path / "out/editing/previous/5.png").read_bytes()


def test_duplicates_stay(tmp_path: Path) -> None:
    draft = Draft(tmp_path / "set")
    for folder in ("previous", "changed", "previous_mask"):
        draft.write(2, folder, draft.path(1, folder).read_bytes())
    done = fix(draft.read(), tmp_path / "out")
    assert (done.cases, done.duplicates_kept) == (4, 1)


def test_ids_and_other_fields_survive(tmp_path: Path) -> None:
    draft = Draft(tmp_path / "set")
    draft.records[0] |= {"bits": 12, "modality": "MR", "key_concept": "mole", "rater": {"n": 2}}
    draft.records[1]["id"] = "007"
    draft.records[2]["id"] = "Fall-ä"
    cases = draft.read()
    fix(cases, tmp_path / "out")
    assert [record["id"] for record in samples(tmp_path / "out")] == [1, "007", "Fall-ä", 4]
    copy = reload(tmp_path / "out")
    assert copy["1"].bits == 12 and copy["1"].modality == "MR" and copy["1"].key_concept == "mole"
    assert copy["1"].extra == {"rater": {"n": 2}}
    assert copy.fingerprint == cases.fingerprint


def test_answers_choices_groups_and_further_images_survive(tmp_path: Path) -> None:
    folder = write_set(
        tmp_path / "set",
        2,
        answer="none",
        choices=["none", "some"],
        groups={"subtask": "removal"},
        images={"prior": "editing/prior.png"},
    )
    Image.fromarray(draw(9, 20, 30)).save(folder / "editing" / "prior.png")
    cases = load_cases(folder)
    fix(cases, tmp_path / "out")
    copy = reload(tmp_path / "out")
    assert copy.fingerprint == cases.fingerprint
    prior = copy["1"].images["prior"]
    assert prior.is_relative_to(tmp_path / "out") and read_picture(prior).shape == (20, 30, 3)


def test_cases_without_reference_or_roi(tmp_path: Path) -> None:
    draft = Draft(tmp_path / "set", 1)
    del draft.records[0]["changed_image"], draft.records[0]["previous_mask"]
    fix(draft.read(), tmp_path / "out")
    case = reload(tmp_path / "out")["1"]
    assert case.reference is None and case.roi is None


@pytest.mark.parametrize("where", ["set", "set/inside", "full", "file"])
def test_a_bad_place_is_refused_and_left_alone(tmp_path: Path, where: str) -> None:
    draft = Draft(tmp_path / "set")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("keep")
    (tmp_path / "file").write_text("keep")
    cases = draft.read()
    before = hashes(tmp_path)
    with pytest.raises(InputError):
        fix(cases, tmp_path / where)
    assert hashes(tmp_path) == before


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert fix(Draft(tmp_path / "set").read(), tmp_path / "out").cases == 4


def test_nothing_appears_when_it_is_interrupted_or_no_case_is_left(tmp_path: Path) -> None:
    draft = Draft(tmp_path / "set")
    cases = draft.read()

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fix(cases, tmp_path / "out", progress=interrupt)
    for case_id in range(1, 5):
        draft.write(case_id, "previous", b"no image")
    with pytest.raises(InputError, match="no case can be used"):
        fix(draft.read(), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_the_excerpt(excerpt: Path, tmp_path: Path) -> None:
    cases = medebench_release.read(excerpt / "editing" / medebench_release.METADATA)
    done = fix(cases, tmp_path / "out")
    assert {(repair.case, repair.role) for repair in done.repairs} == {
        (case_id, "roi") for case_id in ("7", "12", "35", "41")
    }
    assert (done.cases, done.copied, done.left_out, done.duplicates_kept) == (69, 203, (), 1)
    found = {finding.code for finding in audit(reload(tmp_path / "out")).findings}
    assert not {"mask-size", "mask-mode", "mask-greys"} & found
