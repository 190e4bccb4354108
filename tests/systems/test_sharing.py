"""Editors of a sweep load what they have in common once, and let go of it at the end."""

from __future__ import annotations

import pytest

import medebench as mb
from medebench.systems import find_system
from tests.systems.conftest import QUICK


@pytest.fixture
def opened(monkeypatch):
    """How often a pipeline was read from the disk."""
    pytest.importorskip("torch")
    from medebench.systems.diffusion import pipeline_loader

    calls: list[str] = []
    real = pipeline_loader.open_pipeline

    def count(weights, *rest):
        calls.append(weights.name)
        return real(weights, *rest)

    monkeypatch.setattr(pipeline_loader, "open_pipeline", count)
    return calls


def sweep(pix2pix, *settings):
    return [find_system(f"instruct-pix2pix:{pix2pix},{QUICK},{one}") for one in settings]


def test_guidance_is_swept_with_one_pipeline(pix2pix, small_set, tmp_path, opened):
    chosen = sweep(pix2pix, "guidance=7.5", "guidance=2", "guidance=2,image_guidance=3")
    run = mb.edit(small_set, chosen, tmp_path / "run")
    assert len(opened) == 1
    with run.ledger() as ledger:
        shas = [row.sha256 for row in ledger.outputs().values()]
    assert len(set(shas)) == 12
    assert not any("_loaded" in one.system.__dict__ for one in chosen)


def test_what_must_be_loaded_anew_gives_the_same_pictures(pix2pix, small_set, tmp_path, opened):
    """With another scheduler in between nothing is shared, and each is let go for the next."""
    run = mb.edit(
        small_set,
        sweep(pix2pix, "guidance=7.5", "scheduler=ddim", "guidance=2"),
        tmp_path / "run",
    )
    assert len(opened) == 3
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


LEARN = "embedding_steps=2,embedding_rate=0.1,network_steps=2,network_rate=0.001"


@pytest.mark.parametrize("call", ["instruct-pix2pix:{},guidance=2", f"imagic:{{}},{LEARN}"])
def test_a_closed_editor_can_be_used_again(call, pix2pix, ask, opened):
    chosen = find_system(f"{call.format(pix2pix)},{QUICK}")
    first = chosen.system.edit(ask()).image
    chosen.system.close()
    assert not set(chosen.system._held) & set(chosen.system.__dict__)
    assert (chosen.system.edit(ask()).image == first).all() and len(opened) == 2


def test_what_imagic_learns_in_a_sweep_is_what_it_learns_alone(pix2pix, ask, opened):
    calls = [f"imagic:{pix2pix},{QUICK},{LEARN},alpha={alpha}" for alpha in (0.5, 1.5)]
    first, second, alone = map(find_system, [*calls, calls[1]])
    first.system.edit(ask())
    assert second.system.share(first.system)
    first.system.close()
    shared = second.system.edit(ask()).image
    assert len(opened) == 1
    assert (alone.system.edit(ask()).image == shared).all()


def test_one_pipeline_at_a_time_is_held(pix2pix, small_set, tmp_path, monkeypatch):
    """Editors that share nothing are loaded when their turn comes, and let go before the next."""
    pytest.importorskip("torch")
    from medebench.systems.diffusion.diffusion_editor import DiffusionEditor

    held: list[int] = []
    chosen = sweep(pix2pix, "scheduler=ddim", "scheduler=euler", "guidance=2")
    real = DiffusionEditor.edit_batch

    def count(self, requests):
        held.append(sum("_loaded" in one.system.__dict__ for one in chosen))
        return real(self, requests)

    monkeypatch.setattr(DiffusionEditor, "edit_batch", count)
    mb.edit(small_set, chosen, tmp_path / "run")
    assert set(held) == {1}
