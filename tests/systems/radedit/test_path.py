"""Steps along a path, against diffusers' schedulers and against Gaussian conditioning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")

from medebench.systems.radedit.noise_path import (  # noqa: E402
    Path,
    Step,
    diffusion_path,
    flow_path,
    path_of,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning"
)
KINDS = ("epsilon", "v_prediction", "sample")


def exact(scheduler):
    """diffusers computes in 32 bits, where 1 - 0.9999 has lost half of its digits."""
    scheduler.alphas_cumprod = scheduler.alphas_cumprod.double()
    return scheduler


def drawn(seed, *shape):
    draws = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=draws, dtype=torch.float64)


def close(ours, theirs, within=1e-10):
    assert torch.allclose(ours.double(), theirs.double(), rtol=0, atol=within), (
        (ours - theirs).abs().max()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_with_all_steps_it_is_ddpm(kind):
    """In 64 bits. Largest difference observed: 1e-13."""
    scheduler = exact(diffusers.DDPMScheduler(40, prediction_type=kind, clip_sample=False))
    path = diffusion_path(scheduler.alphas_cumprod.double().tolist(), 40)
    assert [step.timestep for step in path.steps] == [float(t) for t in range(39, -1, -1)]
    for step in path.steps:
        made, latents = drawn(3, 2, 1, 4, 5, 5)
        theirs = scheduler.step(
            made, int(step.timestep), latents, generator=torch.Generator().manual_seed(7)
        ).prev_sample
        noise = drawn(7, *latents.shape)
        close(step.mean(made, latents, kind) + step.sd * noise, theirs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 5, 20, 50])
def test_with_fewer_steps_it_is_ddim_with_all_of_its_noise(kind, count):
    """In 64 bits. Largest difference observed: 5e-15."""
    scheduler = exact(
        diffusers.DDIMScheduler(
            1000, prediction_type=kind, clip_sample=False, timestep_spacing="trailing"
        )
    )
    scheduler.set_timesteps(count)
    path = diffusion_path(scheduler.alphas_cumprod.double().tolist(), count)
    assert [step.timestep for step in path.steps] == scheduler.timesteps.tolist()
    for step in path.steps:
        made, latents, noise = drawn(int(step.timestep), 3, 1, 4, 5, 5)
        theirs = scheduler.step(
            made, int(step.timestep), latents, eta=1.0, variance_noise=noise
        ).prev_sample
        close(step.mean(made, latents, kind) + step.sd * noise, theirs)


@given(st.sampled_from(["diffusion", "flow"]), st.floats(0.01, 0.999), st.floats(0, 0.98))
@settings(deadline=None, max_examples=30)
def test_a_step_is_the_posterior_of_the_chain(family, s, share):
    """x_next and x_t, given x_0, are jointly normal: the textbook condition gives mean and sd."""
    s_next = s * share
    a, a_next = [(1 - v if family == "flow" else np.sqrt(1 - v * v)) for v in (s, s_next)]
    step = Step(0, a, s, a_next, s_next)
    clean, seen = 0.7, -1.3
    shared = a / a_next * s_next**2  # covariance of x_next and x_t
    mean = a_next * clean + shared / s**2 * (seen - a * clean)
    spread = s_next**2 - shared**2 / s**2
    kind = "flow" if family == "flow" else "v_prediction"
    noise = (seen - a * clean) / s
    said = noise - clean if kind == "flow" else a * noise - s * clean
    ours = step.mean(*(torch.tensor(one, dtype=torch.float64) for one in (said, seen)), kind)
    assert float(ours) == pytest.approx(mean, abs=1e-9)
    assert step.sd**2 == pytest.approx(max(spread, 0), abs=1e-9)


@given(st.sampled_from([*KINDS, "flow"]), st.floats(0.05, 0.95), st.integers(0, 99))
@settings(deadline=None, max_examples=30)
def test_predictions_of_all_kinds_say_the_same(kind, s, seed):
    a = 1 - s if kind == "flow" else np.sqrt(1 - s * s)
    clean, noise = torch.randn(2, 3, generator=torch.Generator().manual_seed(seed)).double()
    seen = a * clean + s * noise
    said = {
        "epsilon": noise,
        "v_prediction": a * noise - s * clean,
        "sample": clean,
        "flow": noise - clean,
    }[kind]
    found = Step(0, a, s, 1, 0).clean_and_noise(said, seen, kind)
    close(found[0], clean, 1e-12)
    close(found[1], noise, 1e-12)


@given(st.integers(1, 60), st.integers(0, 60), st.floats(0, 0.99))
@settings(deadline=None, max_examples=40)
def test_timesteps_are_spread_evenly(count, more, skip):
    kept = np.linspace(0.999, 0.01, count + more).tolist()
    path = diffusion_path(kept, count)
    chosen = [step.timestep for step in path.steps]
    assert len(chosen) == count and chosen[0] == len(kept) - 1
    gaps = -np.diff([*chosen, -1])
    assert gaps.min() >= 1 and gaps.max() - gaps.min() <= 1
    assert (path.steps[-1].a_next, path.steps[-1].s_next) == (1, 0) and path.steps[-1].sd == 0
    short = path.skipped(skip)
    assert len(short) == max(1, count - round(skip * count))
    assert short.steps == path.steps[count - len(short) :]


def test_flow_matching():
    path = flow_path([1000, 750, 250], [1, 0.75, 0.25])
    assert [(step.a, step.s) for step in path.steps] == [(0, 1), (0.25, 0.75), (0.75, 0.25)]
    assert path.steps[0].sd == pytest.approx(0.75)  # from pure noise all that is left is new
    assert path.steps[-1].sd == 0


def test_what_is_no_path():
    with pytest.raises(ValueError, match="does not decrease"):
        path_of([2, 1], [0.1, 0.1], [0.9, 0.9])
    with pytest.raises(ValueError, match="11 steps of 10"):
        diffusion_path([0.9] * 10, 11)
    assert len(Path(())) == 0
