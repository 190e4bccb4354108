"""A set with one flaw has one finding, and a clean set none."""

from __future__ import annotations

import json
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from medebench.audit import Audit, audit
from medebench.audit.audit_run import _examine
from medebench.cases import open_case
from medebench.cases.caseset import CaseSet
from medebench.cases.readers import medebench_release
from medebench.files import read_bytes
from medebench.metrics.intended import OTHER_PHOTOGRAPH, intention_of
from tests.audit.drafts import Draft, huge_png, region, scene, with_chunk
from tests.patience import PATIENCE


def codes(found: Audit) -> dict[str, tuple[str, ...]]:
    return {finding.code: finding.cases for finding in found.findings}


def test_a_clean_set_has_no_findings(tmp_path: Path) -> None:
    found = audit(Draft(tmp_path).read())
    assert codes(found) == {}
    assert (found.cases, found.unusable, found.files, found.exit_code) == (4, 0, 12, 0)


# --- records -------------------------------------------------------------------------------


def field(name: str, value: object) -> Callable[[Draft], None]:
    def spoil(draft: Draft) -> None:
        draft.records[1][name] = value

    return spoil


def drop(name: str) -> Callable[[Draft], None]:
    def spoil(draft: Draft) -> None:
        del draft.records[1][name]

    return spoil


def not_an_object(draft: Draft) -> None:
    draft.records[1] = ["a", "list"]  # type: ignore[call-overload]


# --- files ---------------------------------------------------------------------------------


def bytes_of(folder: str, make: Callable[[bytes], bytes]) -> Callable[[Draft], None]:
    def spoil(draft: Draft) -> None:
        draft.write(2, folder, make(draft.path(2, folder).read_bytes()))

    return spoil


def mask_as(make: Callable[[np.ndarray], np.ndarray | Image.Image]) -> Callable[[Draft], None]:
    def spoil(draft: Draft) -> None:
        draft.save(2, "previous_mask", make(region(1)))

    return spoil


def both(**how: object) -> Callable[[Draft], None]:
    """Previous and reference of case 2 saved in another way."""

    def spoil(draft: Draft) -> None:
        for folder in ("previous", "changed"):
            draft.save(2, folder, draft.pixels(2, folder), **how)

    return spoil


def convert(mode: str, **how: object) -> Callable[[Draft], None]:
    def spoil(draft: Draft) -> None:
        for folder in ("previous", "changed"):
            image = Image.open(draft.path(2, folder)).convert(mode)
            draft.save(2, folder, image, **how)

    return spoil


def small_reference(draft: Draft) -> None:
    image = Image.fromarray(draft.pixels(2, "changed"))
    draft.save(2, "changed", image.resize((48, 40)))


def unchanged(draft: Draft) -> None:
    draft.save(2, "changed", draft.pixels(2, "previous"))


def shifted(draft: Draft) -> None:
    rolled = np.roll(draft.pixels(2, "changed"), 14, axis=1)
    draft.save(2, "changed", rolled)


def unrelated(draft: Draft) -> None:
    draft.save(2, "changed", scene(99))


def see_through(draft: Draft) -> None:
    for folder in ("previous", "changed"):
        alpha = np.full((80, 96, 1), 100, np.uint8)
        draft.save(2, folder, np.concatenate([draft.pixels(2, folder), alpha], axis=2))


def sixteen_bits(draft: Draft) -> None:
    for folder in ("previous", "changed"):
        deep = draft.pixels(2, folder).astype(np.uint16) * 16
        draft.write(2, folder, cv2.imencode(".png", deep)[1].tobytes())


def rotated(draft: Draft) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    for folder in ("previous", "changed"):
        image = Image.fromarray(np.ascontiguousarray(np.rot90(draft.pixels(2, folder))))
        draft.save(2, folder, image, exif=exif)


def pages(draft: Draft) -> None:
    for folder in ("previous", "changed"):
        image = Image.fromarray(draft.pixels(2, folder))
        draft.save(2, folder, image, format="TIFF", save_all=True, append_images=[image])


def gps(draft: Draft) -> None:
    exif = Image.Exif()
    exif[315] = "Jane Doe"
    exif.get_ifd(0x8825)[1] = "N"
    image = Image.fromarray(draft.pixels(2, "previous"))
    draft.save(2, "previous", image, format="JPEG", quality=95, exif=exif)


def many_pixels(draft: Draft) -> None:
    draft.write(2, "previous", huge_png())


def almost_full(mask: np.ndarray) -> np.ndarray:
    full = np.full_like(mask, 255)
    full[:2] = 0
    return full


def soft(mask: np.ndarray) -> np.ndarray:
    return cv2.GaussianBlur(mask, (5, 5), 0)


FLAWS: dict[str, list[tuple[str, Callable[[Draft], None], tuple[str, ...]]]] = {
    "error": [
        ("bad-record", not_an_object, ("record 2",)),
        ("missing-field", drop("prompt"), ("2",)),
        ("bad-field", field("prompt", 3), ("2",)),
        ("bad-id", field("id", "a/b"), ("record 2",)),
        ("duplicate-id", field("id", 1), ("1",)),
        ("path-escape", field("previous_image", "../../etc/passwd"), ("2",)),
        ("missing-file", field("previous_image", "editing/previous/77.png"), ("2",)),
        ("empty-prompt", field("prompt", " … "), ("2",)),
        ("unreadable-image", bytes_of("previous", lambda data: b"no image"), ("2",)),
        ("unreadable-image", bytes_of("changed", lambda data: b""), ("2",)),
        ("truncated-image", bytes_of("previous", lambda data: data[: len(data) // 2]), ("2",)),
        ("truncated-image", bytes_of("previous_mask", lambda data: data[:80]), ("2",)),
        ("oversized-image", many_pixels, ("2",)),
        ("roi-empty", mask_as(np.zeros_like), ("2",)),
    ],
    "warning": [
        ("mask-size", mask_as(lambda mask: mask[:-1]), ("2",)),
        ("mask-mode", mask_as(lambda mask: np.repeat(mask[..., None], 3, 2)), ("2",)),
        ("mask-mode", mask_as(lambda mask: Image.fromarray(mask > 127)), ("2",)),
        ("mask-greys", mask_as(soft), ("2",)),
        ("mask-zero-one", mask_as(lambda mask: mask // 255), ("2",)),
        ("roi-too-large", mask_as(almost_full), ("2",)),
        ("reference-size", small_reference, ("2",)),
        ("reference-unchanged", unchanged, ("2",)),
        ("misaligned-pair", shifted, ("2",)),
        ("other-photograph", unrelated, ("2",)),
        ("inverted-mask", mask_as(lambda mask: 255 - mask), ("2",)),
        ("cut-text", field("rephrased_prompt", "Renew the"), ("2",)),
        ("cut-text", field("rephrased_prompt", "Straighten the bent little fing"), ("2",)),
        ("mojibake", field("prompt", "Straighten the patient鈥檚 little finger."), ("2",)),
        ("refused-text", field("detailed_prompt", "I'm sorry, I can't assist with that."), ("2",)),
        ("short-description", field("detailed_prompt", "It is gone."), ("2",)),
        ("no-organ", field("Organ", ""), ("2",)),
        ("personal-metadata", gps, ("2",)),
        (
            "personal-metadata",
            bytes_of("previous", lambda data: with_chunk(data, b"tEXt", b"Author\0me", True)),
            ("2",),
        ),
    ],
    "note": [
        ("short-prompt", field("prompt", "Remove mole."), ("2",)),
        (
            "rephrased-same",
            field("rephrased_prompt", "straighten, the BENT little finger"),
            ("2",),
        ),
        ("no-description", drop("detailed_prompt"), ("2",)),
        ("no-task", field("Task", " "), ("2",)),
        ("no-roi", drop("previous_mask"), ("2",)),
        ("no-reference", drop("changed_image"), ("2",)),
        ("transparency", see_through, ("2",)),
        ("sixteen-bit", sixteen_bits, ("2",)),
        ("colour-mode", convert("CMYK", format="JPEG", quality=95), ("2",)),
        ("colour-mode", convert("P"), ("2",)),
        ("exif-rotation", rotated, ("2",)),
        ("several-frames", pages, ("2",)),
    ],
}


@pytest.mark.parametrize(
    ("severity", "code", "spoil", "cases"),
    [(severity, *flaw) for severity, flaws in FLAWS.items() for flaw in flaws],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_flaw_is_one_finding(
    tmp_path: Path, severity: str, code: str, spoil: Callable[[Draft], None], cases: tuple[str, ...]
) -> None:
    draft = Draft(tmp_path)
    spoil(draft)
    found = audit(draft.read())
    assert codes(found) == {code: cases}
    finding = found[code]
    assert finding.severity == severity
    assert found.exit_code == (1 if severity == "error" else 0)
    for line in (finding.title, finding.detail, finding.remedy):
        assert line and "\n" not in line
    assert json.loads(json.dumps(found.to_json()))["findings"][0]["code"] == code


def test_a_tiny_region_on_a_large_picture(tmp_path: Path) -> None:
    draft = Draft(tmp_path, 1)
    for folder in ("previous", "changed"):
        pixels = Image.fromarray(draft.pixels(1, folder)).resize((192, 160))
        draft.save(1, folder, pixels)
    mask = np.zeros((160, 192), np.uint8)
    mask[40:44, 40:44] = 255
    draft.save(1, "previous_mask", mask)
    assert codes(audit(draft.read())) == {"roi-tiny": ("1",)}


def test_details_name_figures_and_not_values(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    gps(draft)
    mask_as(lambda mask: mask[:-1])(draft)
    found = audit(draft.read())
    assert "mask is 96 x 79, image 96 x 80" in found["mask-size"].detail
    assert found["personal-metadata"].detail == "GPS position (1), author (1)"
    assert "Jane" not in json.dumps(found.to_json())


def test_a_picture_that_claims_to_be_huge_costs_no_memory(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    many_pixels(draft)
    cases = draft.read()
    tracemalloc.start()
    found = audit(cases)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["oversized-image"].detail.startswith("case 2, previous: larger than")
    assert peak < 50e6


# --- pictures that appear more than once ----------------------------------------------------


def copy(draft: Draft, folders: dict[str, str], source: int = 1, target: int = 2) -> None:
    for origin, folder in folders.items():
        draft.write(target, folder, draft.path(source, origin).read_bytes())


def test_a_whole_case_twice(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    copy(draft, {"previous": "previous", "changed": "changed", "previous_mask": "previous_mask"})
    found = audit(draft.read())
    assert codes(found) == {"duplicate-case": ("1", "2")}
    assert "1 = 2 (different prompts)" in found["duplicate-case"].detail


def test_the_same_pictures_with_another_region(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    copy(draft, {"previous": "previous", "changed": "changed"})
    found = audit(draft.read())
    assert codes(found) == {"duplicate-image": ("1", "2")}
    assert found["duplicate-image"].groups == (
        (("1", "previous"), ("2", "previous")),
        (("1", "reference"), ("2", "reference")),
    )


def test_a_reference_that_is_another_cases_input(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    later = draft.pixels(1, "changed").copy()
    draft.save(2, "previous", later)
    later[region(1) > 127] = 128
    draft.save(2, "changed", later)
    found = audit(draft.read())
    assert codes(found) == {"duplicate-image": ("1", "2")}
    assert found["duplicate-image"].groups == ((("1", "reference"), ("2", "previous")),)


def test_one_file_for_two_cases_is_read_once_and_only_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = Draft(tmp_path)
    draft.records[1]["previous_image"] = "editing/previous/1.png"
    changed = draft.pixels(1, "previous").copy()
    changed[region(1) > 127] = 10
    draft.save(2, "changed", changed)
    cases = draft.read()
    read: list[Path] = []
    monkeypatch.setattr(
        "medebench.images.picture.read_bytes", lambda path: read.append(path) or read_bytes(path)
    )
    found = audit(cases)
    assert codes(found) == {"shared-image": ("1", "2")}
    assert len(read) == len(set(read)) == found.files == 11


def test_a_rescaled_and_recompressed_copy(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    for folder in ("previous", "changed"):
        image = Image.fromarray(draft.pixels(1, folder)).resize((144, 120))
        draft.save(3, folder, image, format="JPEG", quality=80)
    mask = Image.fromarray(region(0)).resize((144, 120), Image.Resampling.NEAREST)
    draft.save(3, "previous_mask", mask)
    found = audit(draft.read())
    assert codes(found) == {"near-duplicate": ("1", "3")}
    roles = {tuple(member.role for member in group) for group in found["near-duplicate"].groups}
    assert roles == {("previous", "previous"), ("reference", "reference")}


def test_flat_pictures_are_not_alike(tmp_path: Path) -> None:
    draft = Draft(tmp_path, 2)
    for case_id in (1, 2):
        flat = np.full((80, 96, 3), 40 * case_id, np.uint8)
        draft.save(case_id, "previous", flat)
        flat[region(case_id - 1) > 127] = 200
        draft.save(case_id, "changed", flat)
    assert "near-duplicate" not in codes(audit(draft.read()))


# --- the run itself -------------------------------------------------------------------------


def test_progress_counts_cases_and_workers_do_not_matter(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    unchanged(draft)
    steps: list[tuple[int, int]] = []
    cases = draft.read()
    alone = audit(cases, workers=1, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert alone == audit(cases, workers=4)


def test_an_interrupt_ends_the_work(tmp_path: Path) -> None:
    cases = Draft(tmp_path, 4).read()
    many = CaseSet("many", cases.root, cases.cases * 50)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(many, workers=2, progress=interrupt)
    for thread in threading.enumerate():
        if thread.name.startswith("audit"):
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_an_empty_set(tmp_path: Path) -> None:
    assert codes(audit(CaseSet("none", tmp_path, ()))) == {}


def test_the_excerpt(excerpt: Path) -> None:
    found = audit(medebench_release.read(excerpt / "editing" / medebench_release.METADATA))
    ids = codes(found)
    assert found.exit_code == 0
    assert ids["mask-size"] == ("35",)
    assert "mask is 512 x 275, image 512 x 276" in found["mask-size"].detail
    assert ids["mask-mode"] == ids["mask-greys"] == ("7", "12", "35", "41")
    assert ids["duplicate-image"] == ("228", "595")
    assert ids["duplicate-case"] == ("253", "265")
    assert "near-duplicate" not in ids
    assert ids["roi-too-large"] == ("94", "356")
    assert ids["roi-tiny"] == ("205",)
    assert len(ids["rephrased-same"]) == 19
    assert ids["refused-text"] == ("761",)
    assert {"160", "464", "490", "850", "1000", "1126"} <= set(ids["cut-text"])
    assert "inverted-mask" not in ids and "mojibake" not in ids
    # Looked at: another scene, another pose or another framing.
    others, moved = set(ids["other-photograph"]), set(ids["misaligned-pair"])
    assert {"45", "458", "752", "866", "924", "951", "1000"} <= others
    # Looked at: the same scene farther left, farther down.
    assert {"169", "918", "939"} <= moved
    # Looked at: the same photograph, or another one that fits as well.
    assert not {"289", "295", "365", "503", "581"} & (others | moved)


def test_pairs_are_other_photographs_where_the_metric_says_so(excerpt: Path) -> None:
    """`edit_residual` has no score for these; on the small grid nearly the same cases are found."""
    cases = medebench_release.read(excerpt / "editing" / medebench_release.METADATA)
    by_metric = {
        case.id for case in cases if intention_of(open_case(case)).beside >= OTHER_PHOTOGRAPH
    }
    found = audit(cases)
    by_audit = {*found["other-photograph"].cases, *found["misaligned-pair"].cases}
    assert len(by_metric - by_audit) <= 1
    # Pairs that differ little in colour and have nothing in common in structure.
    assert len(by_audit - by_metric) <= 3


def test_views_are_let_go(tmp_path: Path) -> None:
    for one in _examine(Draft(tmp_path).read().cases, 2):
        for facts in one.files.values():
            kept = facts.look.thumb if facts.look else b""
            assert len(kept) <= 1024
