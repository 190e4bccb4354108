"""Editors of a sweep load what they have in common once, and let go of it at the end."""

from __future__ import annotations

import pytest

import medebench as mb
from medebench.editors import find_editor
from tests.editors.conftest import QUICK


@pytest.fixture
def opened(monkeypatch):
    """How often a pipeline was read from the disk."""
    pytest.importorskip("torch")
    from medebench.editors.diffusion import loading

    calls: list[str] = []
    real = loading.open_pipeline

    def count(weights, *rest):
        calls.append(weights.name)
        return real(weights, *rest)

    monkeypatch.setattr(loading, "open_pipeline", count)
    return calls


def sweep(pix2pix, *settings):
    return [find_editor(f"instruct-pix2pix:{pix2pix},{QUICK},{one}") for one in settings]


def test_guidance_is_swept_with_one_pipeline(pix2pix, small_set, tmp_path, opened):
    chosen = sweep(pix2pix, "guidance=7.5", "guidance=2", "guidance=2,image_guidance=3")
    run = mb.edit(small_set, chosen, tmp_path / "run")
    assert len(opened) == 1
    with run.ledger() as ledger:
        shas = [row.sha256 for row in ledger.outputs().values()]
    assert len(set(shas)) == 12
    assert not any("_loaded" in one.editor.__dict__ for one in chosen)


def test_what_must_be_loaded_anew_gives_the_same_pictures(pix2pix, small_set, tmp_path, opened):
    """With another scheduler in between nothing is shared, and each is let go for the next."""
    run = mb.edit(
        small_set,
        sweep(pix2pix, "guidance=7.5", "scheduler=ddim", "guidance=2"),
        tmp_path / "run",
    )
    assert len(opened) > 3
    alone = mb.edit(small_set, sweep(pix2pix, "guidance=2")[0], tmp_path / "alone")
    for case in "1234":
        assert run.output_path(case, 2).read_bytes() == alone.output_path(case, 0).read_bytes()


def test_a_wrong_setting_late_in_a_sweep_shows_before_anything_is_written(
    pix2pix, small_set, tmp_path
):
    chosen = sweep(pix2pix, "guidance=7.5", "guidance=0.5")
    with pytest.raises(mb.InputError, match=r"guidance=0\.5: up to 1 this pipeline drops"):
        mb.edit(small_set, chosen, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_closed_editor_can_be_used_again(pix2pix, ask, opened):
    (chosen,) = sweep(pix2pix, "guidance=2")
    first = chosen.editor.edit(ask()).picture
    chosen.close()
    assert (chosen.editor.edit(ask()).picture == first).all() and len(opened) == 2
