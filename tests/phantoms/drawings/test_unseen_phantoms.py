"""`unseen-phantoms`: exact edits that depend on a word, and nothing of them in any training.

After a deliberate change of the drawings (which also needs a higher ``UNSEEN_VERSION``) write the
pinned pixels anew with

    python tests/phantoms/drawings/test_unseen_phantoms.py
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import medebench as mb
from medebench.audit.audit_run import audit
from medebench.cases import open_case
from medebench.metrics.intended import edit_residual
from medebench.phantoms.case_sets import UNSEEN_PHANTOMS
from medebench.phantoms.drawings import (
    TASKS,
    UNSEEN_TASKS,
    UNSEEN_VERSION,
    Phantom,
    render,
    sample_unseen,
    write_unseen_phantoms,
)
from medebench.phantoms.drawings.phantom_spec import Draw
from medebench.phantoms.training.phantom_editor.editor_fit import wordings

GOLDEN = Path(__file__).with_name("golden_unseen_phantoms.json")
COUNT = 12


@cache
def case(index: int, seed: int = 0) -> Phantom:
    return render(sample_unseen(index, seed))


def fingerprint(phantom: Phantom) -> str:
    digest = hashlib.sha256()
    for pixels in (phantom.previous, phantom.reference, phantom.roi):
        digest.update(pixels.tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("index", range(COUNT))
def test_a_case_is_exact(index: int) -> None:
    phantom = case(index)
    inside = phantom.roi == 255
    gap = np.abs(phantom.previous.astype(int) - phantom.reference)
    assert set(np.unique(phantom.roi)) == {0, 255}
    assert not gap[~inside].any()
    # Local, and large enough for what the editor's autoencoder can show.
    assert 0.01 < inside.mean() < 0.2
    assert gap[inside].mean() > 10
    assert phantom.key_concept in phantom.prompt
    assert len({phantom.prompt, phantom.rephrased_prompt, phantom.description}) == 3
    for text in (phantom.prompt, phantom.rephrased_prompt, phantom.description):
        assert text.endswith(".") and "{" not in text and "  " not in text
    if "radiograph" in phantom.modality:
        assert (phantom.reference[..., 0] == phantom.reference[..., 2]).all()


@pytest.mark.parametrize("task", UNSEEN_TASKS, ids=lambda task: task.task)
def test_the_word_decides(task) -> None:
    """The same picture has another answer where another colour or side is named."""
    spec = next(sample_unseen(i) for i in range(COUNT) if sample_unseen(i).task == task.task)
    others = {
        "Change iris colour": {"brown": "green", "green": "blue", "blue": "green"},
        "Cover mole with plaster": {"white": "red", "red": "brown", "brown": "white"},
        "Stain polyp": {"white": "blue", "blue": "brown", "brown": "white"},
    }[task.task]
    other = replace(spec, params={**spec.params, "colour": others[spec.params["colour"]]})
    one, two = render(spec), render(other)
    assert np.array_equal(one.previous, two.previous)
    assert one.prompt != two.prompt and one.rephrased_prompt != two.rephrased_prompt
    roi = one.roi == 255
    assert edit_residual(one.previous, one.reference, one.reference, roi) == 0
    assert edit_residual(one.previous, two.reference, one.reference, roi) > 0.4


@pytest.mark.parametrize("task", UNSEEN_TASKS, ids=lambda task: task.task)
def test_every_phrasing_names_what_decides(task) -> None:
    said: dict[str, set[str]] = defaultdict(set)
    for seed in range(30):
        params = task.sample(Draw(np.random.Generator(np.random.PCG64(seed))))
        texts, (word,) = task.texts(params), task.words(params).values()
        prompts, rephrased = texts["prompts"], texts["rephrased_prompts"]
        assert len({*prompts, *rephrased}) >= 8
        assert all(texts["key_concept"] in prompt for prompt in prompts)
        assert all(word in text for text in (*prompts, *rephrased, *texts["descriptions"]))
        said[word].update(prompts)
    assert len(said) >= 2
    assert all(not said[one] & said[two] for one in said for two in said if one != two)


def test_nothing_of_them_is_in_the_training_or_in_other_sets() -> None:
    known = {(one.organ, one.task) for one in TASKS}
    assert not known & {(one.organ, one.task) for one in UNSEEN_TASKS}
    assert not {one.task for one in UNSEEN_TASKS} & {one.task for one in wordings(130, 20260)}


def test_pinned() -> None:
    pinned = json.loads(GOLDEN.read_text())
    assert pinned["version"] == UNSEEN_VERSION
    assert pinned["sha256"] == [fingerprint(case(index)) for index in range(6)]


def test_the_tasks_take_turns_and_each_seed_draws_others() -> None:
    tasks = [sample_unseen(index).task for index in range(9)]
    assert tasks == [one.task for one in UNSEEN_TASKS] * 3
    assert sample_unseen(4, 0).params != sample_unseen(4, 1).params
    with pytest.raises(ValueError, match="negative"):
        sample_unseen(-1)


def test_the_set(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write_unseen_phantoms(one, 4, 5, workers=1)
    write_unseen_phantoms(two, 4, 5, workers=2)
    cases = mb.load_cases(one)
    assert cases.digests == mb.load_cases(two).digests
    for index, found in enumerate(cases):
        opened, phantom = open_case(found), case(index, 5)
        assert found.task == phantom.spec.task and found.prompt == phantom.prompt
        assert np.array_equal(opened.reference, phantom.reference)
        assert np.array_equal(opened.roi, phantom.roi == 255)
    written = json.loads((one / "editing" / "editing_metadata.json").read_text())["samples"]
    told = {"index": 0, "seed": 5, "version": UNSEEN_VERSION, "set": "unseen-phantoms"}
    assert written[0]["phantom"] == told
    assert mb.load_cases("phantoms:count=4,seed=5").fingerprint != cases.fingerprint


def test_no_two_are_alike() -> None:
    """Lookalikes would be one group, and leave few independent cases to learn from."""
    cases = UNSEEN_PHANTOMS("unseen-phantoms:count=36")
    assert len({one.task for one in cases}) == 3
    codes = {finding.code for finding in audit(cases).findings}
    assert not codes & {"near-duplicate", "duplicate-case", "duplicate-image", "shared-image"}


if __name__ == "__main__":
    content = {"version": UNSEEN_VERSION, "sha256": [fingerprint(case(i)) for i in range(6)]}
    GOLDEN.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
