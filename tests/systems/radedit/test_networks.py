"""All kinds of pipelines: what the network is told is what the pipeline itself tells it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from medebench.errors import InputError
from medebench.systems import find_system
from tests.conftest import draw
from tests.systems.conftest import editor
from tests.systems.radedit.conftest import QUICK

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")

from medebench.quiet import quiet  # noqa: E402
from tests.tiny_pipelines import QUIET  # noqa: E402

pytestmark = QUIET
KINDS = ("stable_diffusion", "patches", "sdxl", "sd3", "pixart")
PROMPT = "erase the stitched scar"


@pytest.fixture(scope="module")
def ready(made):
    """One editor for all tests of a pipeline: no edit leaves anything behind."""
    editors = {}

    def get(kind):
        if kind not in editors:
            editors[kind] = editor(f"radedit:{made(kind)},{QUICK}")
        return editors[kind]

    return get


@pytest.mark.parametrize("kind", KINDS)
def test_the_network_is_told_what_the_pipeline_tells_it(kind, ready):
    """Largest difference of a prediction observed: 1.2e-6, of values about 1."""
    one = ready(kind)
    network, pipe = one._network, one._loaded.pipe
    calls = []

    def listen(_module, args, kwargs, output):
        seen = kwargs.get("hidden_states", args[0] if args else None)
        when = kwargs.get("timestep", args[1] if len(args) > 1 else None)
        calls.append((seen, when, output[0]))

    hook = network.denoiser.register_forward_hook(listen, with_kwargs=True)
    more = {"use_resolution_binning": False} if kind == "pixart" else {}
    with quiet("diffusers", "transformers"), torch.inference_mode():
        pipe(PROMPT, height=64, width=64, num_inference_steps=2, output_type="latent", **more)
        hook.remove()
        assert len(calls) == 2
        base, told = network.read([""]), network.read([PROMPT])
        for seen, when, predicted in calls:
            time = float(torch.as_tensor(when).flatten()[0])
            for text, row in ((base, 0), (told, 1)):
                ours = network.predict(seen[row : row + 1], time, text)
                theirs = predicted[row : row + 1, : ours.shape[1]]
                assert torch.allclose(ours, theirs, rtol=0, atol=2e-5), (ours - theirs).abs().max()
        assert not torch.allclose(predicted[0], predicted[1], atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_latents_become_pictures_as_in_the_pipeline(kind, ready):
    """And pictures latents, by the inverse of the same scale."""
    one = ready(kind)
    network, pipe = one._network, one._loaded.pipe
    more = {"use_resolution_binning": False} if kind == "pixart" else {}
    both = [
        pipe(
            PROMPT,
            height=64,
            width=64,
            num_inference_steps=1,
            generator=torch.Generator().manual_seed(4),
            output_type=wanted,
            **more,
        ).images
        for wanted in ("latent", "np")
    ]
    with torch.inference_mode():
        assert np.allclose(network.decode(both[0]), both[1], atol=1e-5)
        picture = Image.fromarray(draw(1, 64, 64))
        latents = network.encode([picture])
        pixels = torch.from_numpy(np.array(picture)).permute(2, 0, 1)[None] / 127.5 - 1
        config = pipe.vae.config
        encoded = pipe.vae.encode(pixels)
        bare = encoded.latents if kind == "patches" else encoded.latent_dist.mean
        shifted = (bare - (config.get("shift_factor") or 0)) * config.scaling_factor
        assert torch.allclose(latents, shifted, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@settings(
    deadline=None,
    max_examples=3,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.integers(1, 6), skip=st.floats(0, 0.9), seed=st.integers(0, 99))
def test_the_input_comes_back(kind, ready, steps, skip, seed):
    """To the last bit of the latents, with the whole of each pipeline in between."""
    from functools import partial

    from medebench.systems.radedit.inversion import denoising, draw_states, invert

    network = ready(kind)._network
    with quiet("diffusers", "transformers"), torch.inference_mode():
        base, told = network.read(["", ""]), network.read([PROMPT, PROMPT])
        latents = network.encode([Image.fromarray(draw(seed + one, 32, 32)) for one in (0, 1)])
        path = network.path(steps, 32, 32).skipped(skip)
        generators = [torch.Generator().manual_seed(seed + one) for one in (0, 1)]
        states = draw_states(latents, path, generators)
        plain, text = partial(network.predict, text=base), partial(network.predict, text=told)
        inverted = invert(states, path, network.prediction, plain)
        nowhere = torch.zeros(2, 1, *latents.shape[-2:], dtype=bool)
        keep = nowhere.clone()
        keep[..., 2:5, :] = True
        for arguments in ((0,), (9, nowhere)):
            *_, back = denoising(inverted, plain, text, *arguments)
            assert torch.equal(back, latents)
        *_, changed = denoising(inverted, plain, text, 9, ~nowhere, keep)
        kept = keep.expand_as(latents)
        assert torch.equal(changed[kept], latents[kept])
        assert not torch.equal(changed, latents)


def test_steps_of_flow_matching_are_the_pipelines_own(ready):
    network = ready("sd3")._network
    scheduler = type(network.pipe.scheduler).from_config(network.pipe.scheduler.config)
    scheduler.set_timesteps(7)
    path = network.path(7, 64, 64)
    assert [step.timestep for step in path.steps] == scheduler.timesteps.tolist()
    assert [step.s for step in path.steps] == pytest.approx(scheduler.sigmas.tolist()[:-1])


def test_flow_matching_that_leans_with_the_size(ready, monkeypatch):
    from diffusers import FlowMatchEulerDiscreteScheduler
    from diffusers.pipelines.stable_diffusion_3.pipeline_stable_diffusion_3 import calculate_shift

    network = ready("sd3")._network
    monkeypatch.setattr(
        network.pipe, "scheduler", FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True)
    )
    theirs = FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True)
    theirs.set_timesteps(5, mu=calculate_shift(32 * 16))
    path = network.path(5, 128, 64)
    assert [step.s for step in path.steps] == pytest.approx(theirs.sigmas.tolist()[:-1])


def test_noise_without_any_picture_left(ready, monkeypatch):
    """Zero terminal SNR is for models that predict the picture or v."""
    from diffusers import DDIMScheduler

    network = ready("stable_diffusion")._network
    paths = {}
    for kind in ("v_prediction", "sample", "epsilon"):
        scheduler = DDIMScheduler(rescale_betas_zero_snr=True, prediction_type=kind)
        monkeypatch.setattr(network.pipe, "scheduler", scheduler)
        if kind == "epsilon":
            with pytest.raises(InputError, match="its last timestep holds nothing else"):
                network.path(10, 64, 64)
            continue
        paths[kind] = network.path(10, 64, 64).steps
        assert paths[kind][0].a == 0
        ones = torch.ones(1)
        assert all(torch.isfinite(step.mean(ones, ones, kind)).all() for step in paths[kind])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("instruct_pix2pix", "InstructPix2PixPipeline begins with a picture"),
        ("flux_kontext", "FluxKontextPipeline begins with a picture"),
        ("flux_fill", "FluxFillPipeline must be shown where to edit"),
    ],
)
def test_pipelines_of_another_kind(kind, words, made):
    chosen = find_system(f"radedit:{made(kind)},{QUICK}")
    with pytest.raises(InputError, match=words) as raised:
        chosen.system.prepare()
    assert "\n" not in str(raised.value)


def test_schedulers_of_another_kind(made, monkeypatch):
    from diffusers import EDMEulerScheduler

    one = editor(f"radedit:{made('stable_diffusion')},{QUICK}")
    del one.__dict__["_network"]
    monkeypatch.setattr(one._loaded.pipe, "scheduler", EDMEulerScheduler())
    with pytest.raises(InputError, match="EDMEulerScheduler, whose noise is of another kind"):
        one.prepare()
    monkeypatch.undo()
    one._loaded.pipe.scheduler.register_to_config(prediction_type="flow_prediction")
    with pytest.raises(InputError, match="predicts flow_prediction"):
        one.prepare()


def test_a_model_of_fewer_timesteps(made):
    one = editor(f"radedit:{made('stable_diffusion')},{QUICK}")
    one._loaded.pipe.scheduler.alphas_cumprod = one._loaded.pipe.scheduler.alphas_cumprod[:1]
    with pytest.raises(InputError, match="steps=2: this model was trained on 1; use fewer"):
        one.prepare()
