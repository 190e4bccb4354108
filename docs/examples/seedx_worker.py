"""SEED-X (the model SEED-X-Edit) as a worker of medebench.

    export SEEDX_HOME=/path/to/SEED-X      # a checkout, weights under its folder `pretrained`
    medebench edit MedEBench --out runs/seed-x \
        --editor 'seed-x:/path/to/its/environment/bin/python seedx_worker.py'

Written from the interface that the authors' repository publishes (AILab-CVC/SEED-X, its example
of editing). It needs their weights and a GPU with room for a model of 17 billion parameters in
half precision, and HAS NOT BEEN RUN by medebench's developers: look at the first pictures before
you believe a table, and tell us what had to be changed.
"""

import json
import os
import sys
from pathlib import Path

#: The picture is told to the language model as so many tokens, and its answer has as many.
PICTURE_TOKENS = 64
#: What the visual encoder sees, and what the decoder paints.
SEEN, PAINTED = 448, 1024
LONGEST_ANSWER = 512
DECODER = "sdxl_qwen_vit_resampler_l4_q64_full_with_latent_image_pretrain_no_normalize"


class SeedX:
    """The four parts of the model, each put together by the repository's own configuration."""

    def __init__(self, home, device="cuda"):
        # The configurations name weights and modules relative to the checkout.
        os.chdir(home)
        sys.path[:0] = [str(home), str(home / "src" / "inference")]
        import torch
        from any_res import process_anyres_image
        from diffusers import AutoencoderKL, EulerDiscreteScheduler, UNet2DConditionModel

        self.torch, self.device, self.dtype = torch, device, torch.float16
        self.cut = process_anyres_image
        self.tokenizer = self.build("tokenizer/clm_llama_tokenizer_224loc_anyres")
        self.transform = self.build("processer/qwen_448_transform")
        self.encoder = self.place(self.build("visual_encoder/qwen_vitg_448"))
        language = self.build("clm_models/llm_seed_x_edit", torch_dtype=self.dtype)
        self.agent = self.place(self.build("clm_models/agent_seed_x_edit", llm=language))
        sdxl = "pretrained/stable-diffusion-xl-base-1.0"
        unet = self.place(UNet2DConditionModel.from_pretrained(sdxl, subfolder="unet"))
        self.decoder = self.place(self.build(f"sdxl_adapter/{DECODER}", unet=unet))
        self.decoder.init_pipe(
            vae=self.place(AutoencoderKL.from_pretrained(sdxl, subfolder="vae")),
            scheduler=EulerDiscreteScheduler.from_pretrained(sdxl, subfolder="scheduler"),
            visual_encoder=self.encoder,
            image_transform=self.transform,
            dtype=self.dtype,
            device=device,
        )

    def build(self, name, **parts):
        from hydra.utils import instantiate
        from omegaconf import OmegaConf

        return instantiate(OmegaConf.load(f"configs/{name}.yaml"), **parts)

    def place(self, module):
        return module.to(self.device, dtype=self.dtype).eval()

    def edit(self, image, instruction, seed, steps):
        torch = self.torch
        torch.manual_seed(seed)
        pieces, positions = self.cut(image, self.transform, [[SEEN, SEEN]], SEEN)
        pieces = pieces.to(self.device, dtype=self.dtype)
        tokens, of_picture = self.question(len(pieces), instruction)
        with torch.no_grad():
            answer = self.agent.generate(
                tokenizer=self.tokenizer,
                input_ids=tokens[None],
                image_embeds=self.encoder(pieces),
                embeds_cmp_mask=torch.ones(len(pieces), dtype=torch.bool, device=self.device),
                patch_positions=positions,
                ids_cmp_mask=of_picture[None],
                max_new_tokens=LONGEST_ANSWER,
                num_img_gen_tokens=PICTURE_TOKENS,
            )
            if not answer["has_img_output"]:
                raise ValueError(f"answered in words only: {answer['text'][:200]}")
            (made, *_) = self.decoder.generate(
                image_embeds=answer["img_gen_feat"],
                latent_image=image.resize((PAINTED, PAINTED)),
                num_inference_steps=steps,
                seed=seed % 2**32,
            )
        # The model paints squares: back to the shape that was stretched to one.
        return made.convert("RGB").resize(image.size, resample=1)

    def question(self, count, instruction):
        """The tokens of the question, and which of them stand for the picture."""
        torch = self.torch
        slots = "".join(f"<img_{number:05d}>" for number in range(PICTURE_TOKENS))
        pictures = f"<patch>{slots}</patch>" * (count - 1) + f"<img>{slots}</img>"
        words = f"[INST] {pictures}{instruction} [/INST]\n"
        ids = [self.tokenizer.bos_token_id, *self.tokenizer.encode(words, add_special_tokens=False)]
        begin, end = (
            {self.tokenizer.encode(mark, add_special_tokens=False)[0] for mark in marks}
            for marks in (("<img>", "<patch>"), ("</img>", "</patch>"))
        )
        inside, flags = False, []
        for one in ids:
            inside = inside and one not in end
            flags.append(inside)
            inside = inside or one in begin
        return (
            torch.tensor(ids, dtype=torch.long, device=self.device),
            torch.tensor(flags, dtype=torch.bool, device=self.device),
        )


def picture_of(case):
    """The input with 8 bits a channel, whatever its own depth."""
    from PIL import Image

    image = Image.open(case["image"])
    if image.mode.startswith("I"):
        image = image.convert("I").point(lambda value: value * (255 / case["range"])).convert("L")
    return image.convert("RGB")


def main():
    # The repository prints while it loads: to the log, so that answers stay alone on their line.
    answers, sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8"), sys.stderr
    os.dup2(2, 1)
    home = Path(os.environ.get("SEEDX_HOME", "")).expanduser().resolve()
    if not (home / "configs" / "clm_models").is_dir():
        sys.exit("SEEDX_HOME: not set to a checkout of SEED-X")
    model = SeedX(home)

    def say(**answer):
        print(json.dumps(answer), file=answers, flush=True)

    say(medebench=1, ready=True, name="SEED-X-Edit")
    for line in sys.stdin:
        case = json.loads(line)
        named = {"id": case["id"], "k": case["k"]}
        try:
            steps = case["settings"].get("steps", 50)
            made = model.edit(picture_of(case), case["instruction"], case["seed"], steps)
            made.save(case["output"])
        except ValueError as error:
            say(**named, refused=str(error))
        else:
            say(**named, done=True)


if __name__ == "__main__":
    main()
