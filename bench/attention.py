"""What recording attention costs: time against an unrecorded edit, memory from 10 to 100 steps.

python bench/attention.py FOLDER        an InstructPix2Pix pipeline in diffusers' format
"""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from medebench.grounding.attention_recorder import record
from medebench.grounding.concept_tokens import find_token

PROMPT, CONCEPT = "Remove the wisdom teeth.", "wisdom teeth"


def load(folder: Path) -> Any:
    logging.getLogger("transformers").setLevel(logging.ERROR)
    import torch
    from diffusers import DiffusionPipeline

    from medebench.phantoms import patch_autoencoder

    # A part of the built-in model, whose index names it as it was called when that was made.
    sys.modules["medebench.editors.patch_autoencoder"] = patch_autoencoder

    pipe = DiffusionPipeline.from_pretrained(
        folder, local_files_only=True, torch_dtype=torch.float32
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


def edit(pipe: Any, steps: int) -> np.ndarray[Any, Any]:
    """One edit at the size that the model was trained for."""
    import torch

    size = pipe.unet.config.sample_size * pipe.vae_scale_factor
    noise = np.random.default_rng(0).integers(0, 256, (size // 8, size // 8, 3), dtype=np.uint8)
    picture = Image.fromarray(noise).resize((size, size), Image.Resampling.BICUBIC)
    generator = torch.Generator().manual_seed(0)
    given = {"num_inference_steps": steps, "generator": generator, "output_type": "np"}
    return np.asarray(pipe(PROMPT, image=picture, **given).images)


def edit_recorded(pipe: Any, steps: int) -> tuple[np.ndarray[Any, Any], int]:
    """The same edit with its attention recorded, and the bytes that the recorder held."""
    with record(pipe, [find_token(pipe, PROMPT, CONCEPT)]) as recorder:
        image = edit(pipe, steps)
    recorder.maps(*image.shape[1:3])
    return image, recorder.nbytes


def bench_time(pipe: Any, steps: int = 20, times: int = 9) -> None:
    """Plain and recorded edits take turns, so that both meet the same disturbances."""
    plain, recorded = [], []
    edit_recorded(pipe, 1)
    same = True
    for _ in range(times):
        begin = time.perf_counter()
        image = edit(pipe, steps)
        middle = time.perf_counter()
        again, _ = edit_recorded(pipe, steps)
        plain.append(middle - begin)
        recorded.append(time.perf_counter() - middle)
        same &= np.array_equal(image, again)
    print(
        f"Attention, {steps} steps: {min(plain):.3f} s unrecorded, {min(recorded):.3f} s recorded: "
        f"{min(recorded) / min(plain) - 1:+.1%} time; images {'identical' if same else 'DIFFER'}"
    )


def bench_memory(folder: Path) -> None:
    """The recorder's sums, and the peak of a process that does nothing but one recorded edit."""
    held, peaks = [], []
    for steps in (10, 100):
        call = [sys.executable, __file__, str(folder), f"--peak={steps}"]
        done = subprocess.run(call, check=True, capture_output=True, text=True)
        stored, peak = map(int, done.stdout.split()[-2:])
        held.append(stored / 1024)
        peaks.append(peak / 1024)
    print(
        f"Attention, memory: {held[0]:.1f} kB recorded for 10 steps, {held[1]:.1f} kB for 100; "
        f"peak of the process {peaks[0]:.0f} MB and {peaks[1]:.0f} MB"
    )


def bench_attention(folder: Path) -> None:
    bench_time(load(folder))
    if Path("/proc/self/status").exists():
        bench_memory(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peak", type=int, help="edit once with so many steps; print bytes, kB")
    given = parser.parse_args()
    if given.peak is None:
        bench_attention(given.folder)
        return
    _, held = edit_recorded(load(given.folder), given.peak)
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM:"))
    print(held, peak.split()[1])


if __name__ == "__main__":
    main()
