"""Another photograph, a moved one, an inverted mask: each under its own name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medebench.audit import audit
from tests.audit.drafts import Draft, region, scene
from tests.audit.test_audit import codes


def test_a_moved_reference_is_misaligned_and_says_by_how_much(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    large = scene(7, (140, 120))
    draft.save(2, "previous", large[20:100, 20:116])
    draft.save(2, "changed", large[26:106, 8:104])
    found = audit(draft.read())
    assert codes(found) == {"misaligned-pair": ("2",)}
    assert "at an offset of +12% of the width and -8% of the height" in (
        found["misaligned-pair"].detail
    )


def test_the_same_scene_in_quite_another_light_is_another_photograph(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    bright = draft.pixels(2, "changed") * 0.5 + 110
    draft.save(2, "changed", bright.astype(np.uint8))
    assert codes(audit(draft.read())) == {"other-photograph": ("2",)}


def test_a_change_of_the_whole_picture_without_a_region_is_no_other_photograph(
    tmp_path: Path,
) -> None:
    draft = Draft(tmp_path)
    draft.save(2, "changed", (draft.pixels(2, "previous") * 0.5 + 110).astype(np.uint8))
    del draft.records[1]["previous_mask"]
    assert codes(audit(draft.read())) == {"no-roi": ("2",)}


def test_a_foreign_reference_is_found_where_the_region_leaves_next_to_nothing(
    tmp_path: Path,
) -> None:
    draft = Draft(tmp_path)
    mask = np.full((80, 96), 255, np.uint8)
    mask[:2] = 0
    draft.save(2, "previous_mask", mask)
    draft.save(2, "changed", scene(99))
    assert codes(audit(draft.read()))["other-photograph"] == ("2",)


@pytest.mark.parametrize("count", [4, 8])
def test_a_whole_set_of_inverted_masks(tmp_path: Path, count: int) -> None:
    draft = Draft(tmp_path, count)
    for case_id in range(1, count + 1):
        after, mask = scene(case_id), region((case_id - 1) % 4)
        after[mask > 127] = 255 - after[mask > 127]
        draft.save(case_id, "changed", after)
        draft.save(case_id, "previous_mask", 255 - mask)
    found = audit(draft.read())
    assert codes(found) == {"inverted-mask": tuple(str(one) for one in range(1, count + 1))}
    assert found["inverted-mask"].detail.startswith("the whole set" if count > 4 else "4 of 4")


def test_a_mask_of_the_ground_is_not_inverted_if_that_is_what_changed(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    after, mask = scene(2), 255 - region(1)
    after[mask > 127] = 255 - after[mask > 127]
    draft.save(2, "changed", after)
    draft.save(2, "previous_mask", mask)
    assert "inverted-mask" not in codes(audit(draft.read()))


def test_an_inverted_mask_without_a_reference(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    del draft.records[1]["changed_image"]
    draft.save(2, "previous_mask", 255 - region(1))
    found = codes(audit(draft.read()))
    assert found["inverted-mask"] == ("2",)


def test_a_full_mask_is_large_and_not_inverted(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    mask = np.full((80, 96), 255, np.uint8)
    mask[:, -2:] = 0
    draft.save(2, "previous_mask", mask)
    assert codes(audit(draft.read())) == {"roi-too-large": ("2",)}


def test_sixteen_bits_are_compared_in_one_light(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    for folder in ("previous", "changed"):
        grey = np.asarray(Image.fromarray(draft.pixels(2, folder)).convert("L"))
        deep = Image.fromarray(grey.astype(np.uint16) * 16)
        draft.save(2, folder, deep)
    assert codes(audit(draft.read())) == {"sixteen-bit": ("2",)}
