"""Inversion and masked denoising: exact where they promise it, and the papers' formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from medebench.systems.radedit.inversion import denoising, draw_states, invert  # noqa: E402
from medebench.systems.radedit.noise_path import diffusion_path, flow_path  # noqa: E402

KEPT = np.cumprod(1 - np.linspace(1e-4, 0.02, 1000)).tolist()
SHAPE = (2, 3, 6, 7)


def denoise(*given: Any) -> Any:
    *_, last = denoising(*given)
    return last


class Task:
    """A small network of random weights whose answer depends on all that it is shown."""

    def __init__(self, kind: str, steps: int, skip: float, dtype: Any, seed: int) -> None:
        draws = torch.Generator().manual_seed(seed)
        self.first = torch.randn(8, 3, 3, 3, generator=draws, dtype=dtype) / 4
        self.last = torch.randn(3, 8, 3, 3, generator=draws, dtype=dtype) / 6
        self.words = torch.randn(2, 8, generator=draws, dtype=dtype)
        self.latents = torch.randn(SHAPE, generator=draws, dtype=dtype)
        sigmas = np.linspace(1, 0, steps + 1)[:-1].tolist()
        whole = (
            flow_path([1000 * one for one in sigmas], sigmas)
            if kind == "flow"
            else diffusion_path(KEPT, steps)
        )
        self.kind, self.path = kind, whole.skipped(skip)
        self.states = draw_states(self.latents, self.path, self.generators(seed))
        self.inverted = invert(self.states, self.path, kind, self.base)
        self.edit, self.keep = torch.rand(2, 2, 1, 6, 7, generator=draws) < 0.4
        self.edit[:, :, 0, 0], self.keep[:, :, 0, 0] = True, False
        self.edit[:, :, 5, 6], self.keep[:, :, 5, 6] = False, True

    @staticmethod
    def generators(seed: int) -> list[Any]:
        return [torch.Generator().manual_seed(seed + one) for one in range(SHAPE[0])]

    def _network(self, latents: Any, timestep: float, word: int) -> Any:
        hidden = torch.nn.functional.conv2d(latents, self.first, padding=1)
        hidden = torch.tanh(hidden + self.words[word][:, None, None] + timestep / 1000)
        return torch.nn.functional.conv2d(hidden, self.last, padding=1)

    def base(self, latents: Any, timestep: float) -> Any:
        return self._network(latents, timestep, 0)

    def text(self, latents: Any, timestep: float) -> Any:
        return self._network(latents, timestep, 1)


tasks = st.builds(
    Task,
    st.sampled_from(["epsilon", "v_prediction", "sample", "flow"]),
    st.integers(1, 50),
    st.floats(0, 0.9),
    st.sampled_from([torch.float32, torch.float64]),
    st.integers(0, 999),
)
some = settings(deadline=None, max_examples=15)


def outside(mask: Any, values: Any) -> Any:
    return values[(~mask).expand_as(values)]


def inside(mask: Any, values: Any) -> Any:
    return values[mask.expand_as(values)]


@given(tasks)
@some
def test_without_guidance_the_input_comes_back(task):
    """Not nearly: to the last bit, at every step, with any masks."""
    for edit, keep in ((None, None), (task.edit, task.keep)):
        made = list(denoising(task.inverted, task.base, task.text, 0, edit, keep))
        assert len(made) == len(task.path)
        assert all(map(torch.equal, made, task.states[1:]))
    assert torch.equal(made[-1], task.latents)


@given(tasks, st.floats(0.1, 30))
@some
def test_an_empty_edit_mask_leaves_guidance_no_effect(task, guidance):
    nowhere = torch.zeros_like(task.edit)
    made = denoise(task.inverted, task.base, task.text, guidance, nowhere)
    assert torch.equal(made, task.latents)
    # The same where one picture of the batch has a mask and the other has none.
    nowhere[0] = task.edit[0]
    made = denoise(task.inverted, task.base, task.text, guidance, nowhere)
    assert torch.equal(made[1], task.latents[1]) and not torch.equal(made[0], task.latents[0])


@given(tasks, st.floats(0.1, 30))
@some
def test_what_is_kept_is_the_input_of_the_same_step(task, guidance):
    made = denoising(task.inverted, task.base, task.text, guidance, task.edit, task.keep)
    for index, latents in enumerate(made):
        kept = inside(task.keep, latents)
        assert torch.equal(kept, inside(task.keep, task.states[index + 1]))
        # The state of the step before, which a released implementation pastes, is another.
        assert not torch.equal(kept, inside(task.keep, task.states[index]))
    assert torch.equal(kept, inside(task.keep, task.latents))
    changed = inside(task.edit & ~task.keep, latents)
    assert not torch.equal(changed, inside(task.edit & ~task.keep, task.latents))


@given(tasks, st.floats(0.1, 30))
@some
def test_outside_the_edit_mask_the_base_prediction_is_used(task, guidance):
    """Of each step by itself: afterwards the network sees what has changed elsewhere."""
    latents = task.states[0]
    for index, made in enumerate(
        denoising(task.inverted, task.base, task.text, guidance, task.edit)
    ):
        step = task.path.steps[index]
        mean = step.mean(task.base(latents, step.timestep), latents, task.kind)
        plain = task.states[index + 1] + (mean - task.inverted.means[index])
        assert torch.equal(outside(task.edit, made), outside(task.edit, plain))
        assert not torch.equal(inside(task.edit, made), inside(task.edit, plain))
        latents = made


@pytest.mark.parametrize("kind", ["epsilon", "v_prediction", "sample"])
@pytest.mark.parametrize(("steps", "skip"), [(1, 0), (7, 0), (30, 0.4)])
def test_it_is_the_formulas_of_the_papers(kind, steps, skip):
    """Written anew with z_t, with plain loops in NumPy. Observed: 6e-13, of values to 1200."""
    task = Task(kind, steps, skip, torch.float64, 5)
    ours = denoise(task.inverted, task.base, task.text, 3.5, task.edit, task.keep).numpy()
    edit = np.broadcast_to(task.edit.numpy(), SHAPE)
    keep = np.broadcast_to(task.keep.numpy(), SHAPE)

    def ask(which, values, timestep):
        return which(torch.from_numpy(values), timestep).numpy()

    def mean_and_sigma(values, prediction, timestep, before):
        bar, bar_before = KEPT[timestep], 1.0 if before < 0 else KEPT[before]
        alpha = bar / bar_before
        if kind == "epsilon":
            clean = (values - np.sqrt(1 - bar) * prediction) / np.sqrt(bar)
        elif kind == "sample":
            clean = prediction
        else:
            clean = np.sqrt(bar) * values - np.sqrt(1 - bar) * prediction
        toward = np.sqrt(bar_before) * (1 - alpha) / (1 - bar)
        stay = np.sqrt(alpha) * (1 - bar_before) / (1 - bar)
        sigma = np.sqrt((1 - bar_before) / (1 - bar) * (1 - alpha))
        return toward * clean + stay * values, sigma

    times = [int(step.timestep) for step in task.path.steps]
    states = [one.numpy() for one in task.states]
    latents = states[0]
    for index, (timestep, before) in enumerate(zip(times, [*times[1:], -1], strict=True)):
        base = ask(task.base, states[index], timestep)
        mean, sigma = mean_and_sigma(states[index], base, timestep, before)
        z = (states[index + 1] - mean) / sigma if sigma > 0 else None
        base, text = (ask(one, latents, timestep) for one in (task.base, task.text))
        used = base.copy()
        for place in np.ndindex(SHAPE):
            if edit[place]:
                used[place] = base[place] + 3.5 * (text[place] - base[place])
        there, _ = mean_and_sigma(latents, used, timestep, before)
        # The last step has no noise; what is missing to the input is added as it is.
        latents = there + (sigma * z if z is not None else states[index + 1] - mean)
        for place in np.ndindex(SHAPE):
            if keep[place]:
                latents[place] = states[index + 1][place]
    assert np.abs(ours - latents).max() < 1e-9 * max(1, np.abs(latents).max())
    assert np.abs(ours - task.latents.numpy()).max() > 0.01


@given(st.sampled_from(["epsilon", "flow"]), st.integers(1, 50), st.floats(0, 0.9))
@settings(deadline=None, max_examples=15)
def test_noise_is_a_matter_of_the_seed_alone(kind, steps, skip):
    whole = Task(kind, steps, 0, torch.float32, 3)
    short = Task(kind, steps, skip, torch.float32, 3)
    assert all(map(torch.equal, reversed(short.states), reversed(whole.states)))
    for row, generator in enumerate(Task.generators(3)):
        alone = draw_states(whole.latents[row : row + 1], whole.path, [generator])
        assert all(torch.equal(a[0], b[row]) for a, b in zip(alone, whole.states, strict=True))


def test_noise_is_drawn_anew_for_every_step():
    """That is what makes an inversion edit-friendly; one noise for all steps would correlate."""
    latents = torch.randn(1, 4, 32, 32, generator=torch.Generator().manual_seed(1))
    path = diffusion_path(KEPT, 6)
    states = draw_states(latents, path, [torch.Generator().manual_seed(2)])
    noise = [
        ((state - step.a * latents) / step.s).flatten().numpy()
        for step, state in zip(path.steps, states, strict=False)
    ]
    correlations = np.corrcoef(noise) - np.eye(6)
    assert np.abs(correlations).max() < 5 / np.sqrt(noise[0].size)
    assert all(abs(one.std() - 1) < 0.05 and abs(one.mean()) < 0.08 for one in noise)
