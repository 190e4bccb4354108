from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")

from medebench.grounding.attention_recorder import AttentionMap, can_record, record  # noqa: E402
from medebench.grounding.concept_tokens import Token, find_token  # noqa: E402
from medebench.grounding.denoiser_layers import Sight, column  # noqa: E402
from medebench.metrics.metric import Undefined  # noqa: E402
from tests import tiny_pipelines as tiny  # noqa: E402
from tests.conftest import draw  # noqa: E402

pytestmark = tiny.QUIET

PROMPTS = ("Remove the wisdom teeth.", "erase the scar on the nose")
CONCEPTS = ("wisdom teeth", "scar")


@dataclass
class Family:
    """One kind of pipeline, and how to run it small."""

    load: Callable[[], Any]
    settings: dict[str, Any]
    takes_image: bool = True
    grids: tuple[tuple[int, int], ...] = ((8, 8),)

    def run(
        self,
        pipe: Any,
        prompts: Sequence[str] = PROMPTS[:1],
        seeds: Sequence[int] = (3,),
        **extra: Any,
    ) -> np.ndarray[Any, Any]:
        height, width = extra.get("height", 64), extra.get("width", 64)
        given = {"num_inference_steps": 2, "output_type": "np", **self.settings, **extra}
        if self.takes_image:
            pictures = [Image.fromarray(draw(seed, height, width)) for seed in seeds]
            given["image"] = pictures if len(pictures) > 1 else pictures[0]
        if given.pop("mask_image", None):
            given["mask_image"] = [Image.new("L", (width, height), 255)] * len(seeds)
        if "max_area" in given:
            given |= {"max_area": height * width, "height": height, "width": width}
        if not given.pop("sized", True):
            given.pop("height", None), given.pop("width", None)
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        given["generator"] = generators if len(generators) > 1 else generators[0]
        return np.asarray(pipe(prompt=list(prompts), **given).images)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pipelines")


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Tiny products are not worth a second thread, which waits where the machine is busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _small_qwen(monkeypatch: pytest.MonkeyPatch) -> None:
    from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit_plus as module

    monkeypatch.setattr(module, "VAE_IMAGE_SIZE", 64 * 64)
    monkeypatch.setattr(module, "CONDITION_IMAGE_SIZE", 32 * 32)


def _loader(name: str, folder: Path) -> Callable[[], Any]:
    def load() -> Any:
        build = getattr(tiny, f"tiny_{name}")
        path = folder / name
        if not path.is_dir():
            build(path)
        is_qwen = name == "qwen_edit"
        pipe = (
            tiny.load_qwen_edit(path)
            if is_qwen
            else diffusers.DiffusionPipeline.from_pretrained(path)
        )
        pipe.set_progress_bar_config(disable=True)
        return pipe

    return load


@pytest.fixture
def families(folder: Path) -> dict[str, Family]:
    levels = ((16, 16), (8, 8))
    return {
        "instruct_pix2pix": Family(
            _loader("instruct_pix2pix", folder), {"sized": False}, grids=levels
        ),
        "stable_diffusion": Family(
            _loader("stable_diffusion", folder), {"height": 64, "width": 64}, False, levels
        ),
        "flux_kontext": Family(
            _loader("flux_kontext", folder), {"max_area": 1, "_auto_resize": False}
        ),
        "flux_fill": Family(
            _loader("flux_fill", folder), {"mask_image": True, "height": 64, "width": 64}
        ),
        "qwen_edit": Family(_loader("qwen_edit", folder), {"height": 64, "width": 64}),
    }


NAMES = ("instruct_pix2pix", "stable_diffusion", "flux_kontext", "flux_fill", "qwen_edit")


@pytest.fixture(params=NAMES)
def family(request: pytest.FixtureRequest, families: dict[str, Family]) -> Family:
    return families[request.param]


def _tokens(pipe: Any, count: int = 1) -> list[Token]:
    pairs = list(zip(PROMPTS, CONCEPTS, strict=True))[:count]
    return [find_token(pipe, prompt, concept) for prompt, concept in pairs]


def _denoiser(pipe: Any) -> Any:
    return getattr(pipe, "unet", None) or pipe.transformer


def _seen_by_the_model(pipe: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """The queries and keys (rows, heads, tokens, channels) that reach the model's own kernel."""
    seen: list[tuple[Any, Any]] = []
    if hasattr(pipe, "unet"):
        kernel = torch.nn.functional.scaled_dot_product_attention

        def watch(query: Any, key: Any, *args: Any, **kwargs: Any) -> Any:
            if key.shape[2] == 77 and query.shape[2] != 77:
                seen.append((query.clone(), key.clone()))
            return kernel(query, key, *args, **kwargs)

        monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", watch)
        return seen
    from diffusers.models.transformers import transformer_flux, transformer_qwenimage

    for module in (transformer_flux, transformer_qwenimage):
        dispatch = module.dispatch_attention_fn

        def joint(query: Any, key: Any, *args: Any, dispatch: Any = dispatch, **kwargs: Any) -> Any:
            seen.append((query.transpose(1, 2).clone(), key.transpose(1, 2).clone()))
            return dispatch(query, key, *args, **kwargs)

        monkeypatch.setattr(module, "dispatch_attention_fn", joint)
    return seen


def test_recorded_and_unrecorded_images_are_the_same(family: Family) -> None:
    pipe = family.load()
    plain = family.run(pipe)
    with record(pipe, _tokens(pipe)) as recorder:
        recorded = family.run(pipe)
    assert np.array_equal(plain, recorded)
    assert np.array_equal(plain, family.run(pipe))
    [found] = recorder.maps(64, 64)
    assert found.map.shape == (64, 64) and found.map.dtype == np.float32
    assert found.map.min() == 0 and found.map.max() == 1
    assert found.calls == 2 and found.concept == "wisdom teeth"


def test_the_weights_are_the_models_own(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = family.load()
    [token] = _tokens(pipe)
    with monkeypatch.context() as patch:
        seen = _seen_by_the_model(pipe, patch)
        with record(pipe, [token]) as recorder:
            family.run(pipe, num_inference_steps=1)
    means = recorder.layer_means()
    assert len(seen) == len(means) > 1
    for (query, key), mean in zip(seen, means.values(), strict=True):
        height, width = mean.shape[1:]
        assert (height, width) in family.grids
        row = {1: 0, 2: 1, 3: 0}[len(query)]
        query, key = query[row], key[row]
        text = key.shape[1]
        if not hasattr(pipe, "unet"):
            text = _text_length(key.shape[1], family)
            query = query[:, text : text + height * width]
        scores = torch.einsum("hqc,hkc->hqk", query.double(), key.double())
        weights = torch.exp(scores / key.shape[-1] ** 0.5)
        share = weights[:, :, :text] / weights[:, :, :text].sum(-1, keepdim=True)
        naive = share[..., token.index if token.index >= 0 else text + token.index].mean(0)
        assert np.abs(naive.numpy().reshape(height, width) - mean[0]).max() < 1e-6


def _text_length(keys: int, family: Family) -> int:
    """All keys are text, the picture being made and, but for Fill, the reference picture."""
    return keys - (64 if "mask_image" in family.settings else 128)


def test_memory_does_not_grow_with_the_steps(family: Family) -> None:
    pipe = family.load()
    stored = []
    for steps in (2, 12):
        with record(pipe, _tokens(pipe)) as recorder:
            family.run(pipe, num_inference_steps=steps)
        stored.append(recorder.nbytes)
        assert recorder.calls == steps
    assert stored[0] == stored[1] > 0


def _installed(pipe: Any) -> list[Any]:
    denoiser = _denoiser(pipe)
    hooks = [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in denoiser.modules()]
    return [hooks, [id(getattr(m, "processor", None)) for m in denoiser.modules()]]


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, RuntimeError])
def test_everything_is_as_before_afterwards(
    family: Family, error: type[BaseException] | None
) -> None:
    pipe = family.load()
    before = _installed(pipe)

    def stop(*_: Any) -> dict[str, Any]:
        assert _installed(pipe) != before
        if error is not None:
            raise error
        return {}

    try:
        with record(pipe, _tokens(pipe)):
            family.run(pipe, callback_on_step_end=stop)
    except (KeyboardInterrupt, RuntimeError) as raised:
        assert type(raised) is error
    assert _installed(pipe) == before


@pytest.mark.parametrize("name", [name for name in NAMES if name != "qwen_edit"])
def test_a_batch_is_recorded_as_its_members_are(name: str, families: dict[str, Family]) -> None:
    family = families[name]
    pipe = family.load()
    tokens = _tokens(pipe, 2)
    assert tokens[0].index != tokens[1].index
    with record(pipe, tokens) as recorder:
        family.run(pipe, PROMPTS, (3, 4))
    together = recorder.maps(64, 64)
    for place, found in enumerate(together):
        with record(pipe, [tokens[place]]) as single:
            family.run(pipe, [PROMPTS[place]], [3 + place])
        [alone] = single.maps(64, 64)
        assert found.concept == CONCEPTS[place]
        np.testing.assert_allclose(found.map, alone.map, atol=2e-3)


def test_a_canvas_need_not_be_square(family: Family) -> None:
    pipe = family.load()
    with record(pipe, _tokens(pipe)) as recorder:
        family.run(pipe, height=48, width=80)
    ratios = {mean.shape[1:] for mean in recorder.layer_means().values()}
    assert ratios == {(h * 3 // 4, w * 5 // 4) for h, w in family.grids}
    assert recorder.maps(48, 80)[0].map.shape == (48, 80)


def test_odd_levels_of_a_unet_are_known(families: dict[str, Family]) -> None:
    family = families["instruct_pix2pix"]
    pipe = family.load()
    with record(pipe, _tokens(pipe)) as recorder:
        family.run(pipe, height=36, width=60)
    assert {m.shape[1:] for m in recorder.layer_means().values()} == {(9, 15), (5, 8)}


@pytest.mark.parametrize("name", ["instruct_pix2pix", "flux_kontext"])
def test_a_lora_on_the_projections_is_heard(
    name: str, families: dict[str, Family], monkeypatch: pytest.MonkeyPatch
) -> None:
    peft = pytest.importorskip("peft")
    family = families[name]
    pipe = family.load()
    with record(pipe, _tokens(pipe)) as recorder:
        family.run(pipe, num_inference_steps=1)
    without = recorder.layer_means()
    config = peft.LoraConfig(
        r=2, target_modules=["to_q", "to_k", "add_k_proj"], init_lora_weights=False
    )
    torch.manual_seed(1)
    _denoiser(pipe).add_adapter(config)
    family.load = lambda: pipe
    test_the_weights_are_the_models_own(family, monkeypatch)
    plain = family.run(pipe, num_inference_steps=1)
    with record(pipe, _tokens(pipe)) as recorder:
        assert np.array_equal(plain, family.run(pipe, num_inference_steps=1))
    with_lora = recorder.layer_means()
    assert any(np.abs(with_lora[layer] - without[layer]).max() > 1e-4 for layer in without)


def test_sliced_attention_is_heard(families: dict[str, Family]) -> None:
    family = families["instruct_pix2pix"]
    pipe = family.load()
    with record(pipe, _tokens(pipe)) as whole:
        family.run(pipe)
    pipe.enable_attention_slicing(1)
    plain = family.run(pipe)
    with record(pipe, _tokens(pipe)) as sliced:
        assert np.array_equal(plain, family.run(pipe))
    np.testing.assert_allclose(sliced.maps(64, 64)[0].map, whole.maps(64, 64)[0].map, atol=1e-3)


@pytest.mark.parametrize("name", ["instruct_pix2pix", "stable_diffusion"])
def test_the_conditional_rows_of_guidance_count(name: str, families: dict[str, Family]) -> None:
    """In the first step all branches see the same picture: the map is that of no guidance."""
    family = families[name]
    pipe = family.load()
    maps = []
    for guidance in (1.0, 7.5):
        with record(pipe, _tokens(pipe)) as recorder:
            family.run(
                pipe, num_inference_steps=1, guidance_scale=guidance, negative_prompt=["nose"]
            )
        maps.append(recorder.layer_means())
    for layer, mean in maps[0].items():
        np.testing.assert_allclose(maps[1][layer], mean, atol=1e-6)
    with record(pipe, _tokens(pipe), conditional=2 if name == "instruct_pix2pix" else 0) as other:
        family.run(pipe, num_inference_steps=1, guidance_scale=7.5, negative_prompt=["nose"])
    assert any(
        np.abs(other.layer_means()[layer] - mean).max() > 1e-5 for layer, mean in maps[0].items()
    )


@pytest.mark.parametrize("name", ["flux_kontext", "qwen_edit"])
def test_the_conditional_pass_of_guidance_counts(name: str, families: dict[str, Family]) -> None:
    family = families[name]
    pipe = family.load()
    maps = []
    guided = {"true_cfg_scale": 3.0, "negative_prompt": ["nose"]}
    for settings in ({"true_cfg_scale": 1.0}, guided):
        with record(pipe, _tokens(pipe)) as recorder:
            family.run(pipe, num_inference_steps=1, **settings)
        maps.append(recorder.maps(64, 64)[0])
    assert np.array_equal(maps[0].map, maps[1].map)
    with record(pipe, _tokens(pipe)) as recorder:
        family.run(pipe, num_inference_steps=3, **guided)
    assert recorder.calls == 3


def test_a_padded_text_is_counted_from_its_own_end(families: dict[str, Family]) -> None:
    """Qwen pads a batch's texts; what is masked is neither counted nor attended to."""
    transformer = families["qwen_edit"].load().transformer
    torch.manual_seed(0)
    text = torch.randn(2, 9, tiny.WIDTH)
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, 6:] = 0
    picture = torch.randn(2, 12, 4 * tiny.LATENT)

    def forward(rows: slice, length: int, masked: Any) -> None:
        with torch.no_grad():
            transformer(
                hidden_states=picture[rows],
                encoder_hidden_states=text[rows, :length],
                encoder_hidden_states_mask=masked,
                timestep=torch.full((rows.stop - rows.start,), 0.5),
                img_shapes=[[(1, 3, 4)]] * (rows.stop - rows.start),
            )

    pipe = type("Pipe", (), {"transformer": transformer})()
    with record(pipe, [-2, -2]) as recorder:
        forward(slice(0, 2), 9, mask)
    with record(pipe, [4]) as alone:
        forward(slice(1, 2), 6, None)
    for layer, mean in alone.layer_means().items():
        np.testing.assert_allclose(recorder.layer_means()[layer][1], mean[0], atol=1e-6)


def test_chosen_layers_only(families: dict[str, Family]) -> None:
    family = families["instruct_pix2pix"]
    pipe = family.load()
    with record(pipe, _tokens(pipe), layers="mid_block|up_blocks") as recorder:
        family.run(pipe)
    assert recorder.layer_means() and not any("down" in name for name in recorder.layer_means())
    with pytest.raises(Undefined, match="no layer's name matches 'nowhere'"):
        record(pipe, [1], layers="nowhere")


def test_paused_passes_do_not_count(families: dict[str, Family]) -> None:
    family = families["instruct_pix2pix"]
    pipe = family.load()
    with record(pipe, _tokens(pipe)) as recorder:
        with recorder.paused():
            family.run(pipe)
        assert recorder.calls == 0
        family.run(pipe)
    assert recorder.calls == 2


def test_a_column_in_chunks_and_from_half_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    query, key = torch.randn(2, 3, 50, 8).half(), torch.randn(2, 3, 11, 8).half()
    bias = torch.zeros(2, 1, 1, 11)
    bias[0, ..., 7:] = -1e9
    naive = (query.double() @ key.double().transpose(2, 3) * 0.5 + bias).softmax(-1)
    expected = torch.stack([naive[0, ..., 4].mean(0), naive[1, ..., 9].mean(0)])
    for budget in (1 << 20, 500, 1):
        monkeypatch.setattr("medebench.grounding.denoiser_layers._SCORES_CPU", budget)
        found = column(Sight(query, key, (5, 10), 0.5, bias), [4, 9])
        assert found.dtype == torch.float32
        np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-6)


def test_what_cannot_be_recorded_is_said_and_the_edit_goes_on(
    families: dict[str, Family],
) -> None:
    family = families["instruct_pix2pix"]
    pipe = family.load()
    plain = family.run(pipe)
    for tokens, reason in (([1, 2], "3 rows for 2 prompts"), ([99], "token 99 of a text of 77")):
        with record(pipe, tokens) as recorder:
            assert np.array_equal(plain, family.run(pipe))
        with pytest.raises(Undefined, match=f"attention cannot be read: {reason}"):
            recorder.maps(64, 64)


def test_a_recorder_that_saw_nothing_says_so(families: dict[str, Family]) -> None:
    pipe = families["instruct_pix2pix"].load()
    with record(pipe, [1]) as recorder:
        pass
    with pytest.raises(Undefined, match="was not run"):
        recorder.maps(8, 8)


def test_pipelines_that_cannot_be_read_have_a_reason(families: dict[str, Family]) -> None:
    assert can_record(object()) is not None
    unknown = type("Pipe", (), {"transformer": torch.nn.Linear(2, 2)})()
    assert "Linear is not supported" in (can_record(unknown) or "")
    with pytest.raises(Undefined, match="cannot be read: Linear"):
        record(unknown, [0])
    pipe = families["flux_kontext"].load()
    assert can_record(pipe) is None
    pipe.transformer.fuse_qkv_projections()
    assert "unfuse_qkv_projections" in (can_record(pipe) or "")
    pipe = families["instruct_pix2pix"].load()
    pipe.unet.mid_block._compiled_call_impl = pipe.unet.mid_block._call_impl
    assert "is compiled" in (can_record(pipe) or "")


def test_a_part_of_a_map_is_spread_again() -> None:
    whole = AttentionMap(np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4), "scar", "scar", 1, 1)
    half = whole.crop(slice(None), slice(2, 4))
    assert half.map.shape == (2, 2) and half.map.min() == 0 and half.map.max() == 1


def test_the_module_needs_no_torch_to_be_imported() -> None:
    code = "import sys, medebench.grounding.attention_recorder; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
