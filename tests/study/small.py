"""A small study made by hand. `python small.py FOLDER --annotators 50` writes one."""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np
from PIL import Image

from medebench.study.design import (
    RUINED,
    Annotator,
    Design,
    Output,
    ShownImage,
    ShownText,
    StudiedRun,
    Study,
    StudyCase,
    Task,
    open_study,
)

MODELS = ("secret-alpha", "secret-beta", "secret-gamma", "secret-delta")


def small_design(
    *, annotators: int = 2, cases: int = 3, outputs: int = 3, instruction: str = "Remove the mole."
) -> Design:
    """A trial, the cases, a control and a repeat for everybody; orders differ."""
    models = MODELS[:outputs]
    made = []
    for number in range(cases + 2):
        names = [*models[:-1], RUINED] if number == cases + 1 else models
        made.append(
            StudyCase(
                id=f"case-{number}",
                group="Skin",
                source=f"source-{number}",
                texts=[
                    ShownText(label="Instruction", text=instruction),
                    ShownText(label="Wanted", text="The mole is gone.", side="reference"),
                ],
                images=[
                    ShownImage(
                        name="previous",
                        label="Input",
                        picture=f"p{number}.png",
                        outline=f"o{number}.png",
                    ),
                    *([_reference(number)] if number else []),
                ],
                width=16,
                height=12,
                outputs={
                    name: Output(picture=f"x{number}y{place}.png")
                    for place, name in enumerate(names)
                },
            )
        )
    people = []
    for number in range(annotators):
        shuffle = random.Random(number)
        tasks = [("trial", 0), *(("case", 1 + case) for case in range(cases))]
        tasks += [("control", cases + 1), ("repeat", 1)]
        people.append(
            Annotator(
                name=f"annotator-{number + 1}",
                tasks=[
                    Task.model_validate(
                        {
                            "kind": kind,
                            "case": case,
                            "order": shuffle.sample(list(made[case].outputs), outputs),
                        }
                    )
                    for kind, case in tasks
                ],
            )
        )
    return Design(
        title="A small study",
        created="2026-01-01T00:00:00Z",
        seed=0,
        dimensions=["ea", "cp", "vq"],
        runs=[StudiedRun(name=name, editor=name, path=f"runs/{name}") for name in models],
        cases=made,
        annotators=people,
    )


def _reference(number: int) -> ShownImage:
    picture = f"r{number}.png"
    return ShownImage(name="reference", label="Reference", picture=picture, side="reference")


def write_study(folder: Path, design: Design) -> Study:
    """The design with pictures of a few pixels, each of another colour."""
    pictures = folder / "pictures"
    pictures.mkdir(parents=True)
    colours = np.random.default_rng(0)
    for case in design.cases:
        for name in case.files:
            colour = tuple(int(part) for part in colours.integers(0, 256, 3))
            Image.new("RGB", (case.width, case.height), colour).save(pictures / name)
    (folder / "study.json").write_text(design.model_dump_json(indent=1), "utf-8")
    return open_study(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--annotators", type=int, default=2)
    parser.add_argument("--cases", type=int, default=3)
    parser.add_argument("--outputs", type=int, default=3)
    given = parser.parse_args()
    counts = {"annotators": given.annotators, "cases": given.cases, "outputs": given.outputs}
    write_study(given.folder, small_design(**counts))
