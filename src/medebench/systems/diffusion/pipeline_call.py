"""Our settings in the words of the pipeline's call; one that it would ignore is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PIL import Image

from medebench.errors import InputError
from medebench.systems.diffusion.diffusion_settings import DiffusionSettings
from medebench.systems.diffusion.pipeline_loader import Loaded
from medebench.systems.request import Refused

#: Pipelines to which a list of pictures is one for each prompt; InstructPix2Pix is another.
_ONE_EACH = ("FluxKontextPipeline", "FluxFillPipeline")
#: Pipelines to which it is several for one prompt.
_SEVERAL = ("QwenImageEditPlusPipeline", "Flux2Pipeline", "Flux2KleinPipeline")


def takes_many(loaded: Loaded) -> bool:
    """Whether the pipeline is given several cases at a time."""
    return "image_guidance_scale" in loaded.known or loaded.kind in _ONE_EACH


def check_demonstrations(loaded: Loaded, count: int) -> None:
    """InputError where a case cannot come with pictures of others."""
    if count and loaded.kind not in _SEVERAL:
        raise InputError(
            f"demonstrations={count}: {loaded.kind} takes one picture a case; "
            "leave it out, or use editor qwen-image-edit or flux2"
        )


def call_arguments(
    loaded: Loaded,
    settings: DiffusionSettings,
    pictures: Sequence[Image.Image],
    prompts: Sequence[str],
    seeds: Sequence[int],
    shown: Sequence[Image.Image] = (),
) -> dict[str, Any]:
    """The pipeline's arguments for pictures of one size; `shown` ones go before a single one."""
    import torch

    check_demonstrations(loaded, len(shown) // 2)

    # Drawn on the CPU: the same seed gives the same noise on every device.
    generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
    many = takes_many(loaded)
    arguments: dict[str, Any] = {
        "prompt": list(prompts) if many else prompts[0],
        "image": list(pictures) if many else [*shown, pictures[0]] if shown else pictures[0],
        "generator": generators if many else generators[0],
        "num_inference_steps": settings.steps,
        "output_type": "np",
    }
    for picture in (*shown, *pictures):
        _check_picture(loaded, picture)
    width, height = pictures[0].size
    # The canvas is ours: no pipeline resizes on its own.
    sizes = {"width": width, "height": height, "max_area": width * height, "_auto_resize": False}
    arguments |= {name: value for name, value in sizes.items() if name in loaded.known}
    arguments |= guidance(loaded, settings)
    if many and "negative_prompt" in arguments:
        arguments["negative_prompt"] = [arguments["negative_prompt"]] * len(prompts)
    return arguments


def _check_picture(loaded: Loaded, picture: Image.Image) -> None:
    """FLUX.2 takes none that is very small or very narrow."""
    check = getattr(getattr(loaded.pipe, "image_processor", None), "check_image_input", None)
    if check is not None:
        try:
            check(picture)
        except ValueError as error:
            raise Refused(f"{error}; use a larger size, or crop the picture") from error


def guidance(loaded: Loaded, settings: DiffusionSettings) -> dict[str, Any]:
    """The weights that steer, as the pipeline calls them; InputError where it has no such thing."""
    wanted = {
        "guidance": ("guidance_scale", settings.guidance),
        "image_guidance": ("image_guidance_scale", settings.image_guidance),
        "true_cfg": ("true_cfg_scale", settings.true_cfg),
        "negative_prompt": ("negative_prompt", settings.negative_prompt or None),
    }
    for setting, (name, value) in wanted.items():
        if value is not None and name not in loaded.known:
            raise InputError(f"{setting}: {loaded.kind} has no such setting; leave it out")
    given = {name: value for name, value in wanted.values() if value is not None}
    if "image_guidance_scale" in loaded.known:
        _check_pair(loaded, given)
    if "guidance_scale" in given:
        _check_embedded(loaded)
    if "true_cfg_scale" in loaded.known:
        _check_true(loaded, given)
    return given


def _check_pair(loaded: Loaded, given: dict[str, Any]) -> None:
    """InstructPix2Pix uses both weights or, without a word, none."""
    text = given.get("guidance_scale", loaded.known["guidance_scale"])
    image = given.get("image_guidance_scale", loaded.known["image_guidance_scale"])
    if text > 1 and image < 1:
        raise InputError(
            f"image_guidance={image:g}: below 1 this pipeline drops guidance too; use 1 or more"
        )
    if text <= 1 and image > 1:
        raise InputError(
            f"guidance={text:g}: up to 1 this pipeline drops image_guidance={image:g} too; "
            "use more, or image_guidance=1"
        )
    if text <= 1 and "negative_prompt" in given:
        raise InputError("negative_prompt: has no effect without guidance above 1")


def _check_embedded(loaded: Loaded) -> None:
    """Transformers are told the weight as a number, if they have learned what it means."""
    distilled = getattr(loaded.pipe, "config", {}).get("is_distilled")
    if distilled is not None:  # FLUX.2 [klein] runs twice for it, unless it has few steps
        if distilled:
            raise InputError(
                "guidance: a model distilled to few steps ignores it; use guidance=none"
            )
        return
    config = getattr(getattr(loaded.pipe, "transformer", None), "config", {})
    if not config.get("guidance_embeds", True):
        other = "use true_cfg" if "true_cfg_scale" in loaded.known else "use guidance=none"
        raise InputError(f"guidance: this model does not know it; {other}")


def _check_true(loaded: Loaded, given: dict[str, Any]) -> None:
    """FLUX and Qwen use the second kind of weight only with a negative prompt, even a blank one."""
    if given.get("true_cfg_scale", loaded.known["true_cfg_scale"]) > 1:
        given.setdefault("negative_prompt", " ")
    elif "negative_prompt" in given:
        raise InputError("negative_prompt: has no effect without true_cfg above 1")
