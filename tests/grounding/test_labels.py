"""All outputs of the excerpt have a noted type, and the command that compares them runs."""

from __future__ import annotations

import csv
import re
import subprocess
import sys

import numpy as np
from PIL import Image

import medebench as mb
from medebench.grounding import FAILURE_TYPES
from medebench.phantoms.drawings import write_phantoms
from medebench.systems import Request, find_system
from medebench.systems.returned_output import as_output
from tests.conftest import REPOSITORY

LABELS = REPOSITORY / "tests" / "grounding" / "data" / "labels.csv"
HEADS = ["case", "model", "type", "second", "earlier", "evidence"]


def labels():
    with LABELS.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def compared(folder, file=LABELS):
    ran = subprocess.run(
        [sys.executable, REPOSITORY / "tools" / "check_labels.py", folder, "--labels", file],
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout


def counts(text, judge):
    [(same, of, kappa)] = re.findall(rf"^{judge}: (\d+) of (\d+), kappa (\S+)", text, re.M)
    return int(same), int(of), float(kappa)


def test_every_label_is_complete_and_valid():
    rows = labels()
    keys = {(row["case"], row["model"]) for row in rows}
    assert len(rows) == len(keys) == 63
    assert len({case for case, _ in keys}) == 9 and len({model for _, model in keys}) == 7
    for row in rows:
        assert list(row) == HEADS
        assert row["type"] in FAILURE_TYPES and row["type"] != row["second"]
        assert {row["second"], row["earlier"]} <= {*FAILURE_TYPES, ""}
        assert len(row["evidence"].split()) >= 3
    assert sum(bool(row["earlier"]) for row in rows) == 24


def test_they_are_the_outputs_of_the_excerpt(excerpt):
    there = {
        (path.stem.removesuffix("_0"), path.parent.name)
        for path in (excerpt / "generated_images").glob("*/*.png")
    }
    assert there == {(row["case"], row["model"]) for row in labels()}


def test_the_command_on_phantoms_whose_types_are_known(tmp_path):
    """A copy of the input is nothing, the reference a success; one label is wrong on purpose."""
    write_phantoms(tmp_path / "set", 5)
    rows = []
    for case in mb.load_cases(tmp_path / "set"):
        opened = mb.open_case(case)
        for model, kind in (("identity", "nothing"), ("reference", "success")):
            picture = as_output(find_system(model).system.edit(Request(opened, 0, 1))).image
            path = tmp_path / "set" / "generated_images" / model / f"{case.id}_0.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.asarray(picture)).save(path)
            rows.append([case.id, model, kind, "", kind, "made so"])
    rows[0][2:4] = "damaged", "nothing"
    file = tmp_path / "labels.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([HEADS, *rows])
    text = compared(tmp_path / "set", file)
    same, of, kappa = counts(text, "offline stand-in")
    # By hand: o = 9/10, e = 0.5 * 0.5 + 0.4 * 0.5.
    assert (same, of) == (9, 10) and kappa == round((0.9 - 0.45) / 0.55, 2)
    assert "10 if a second choice counts" in text and "published judge" not in text


def test_most_findings_are_the_noted_type(excerpt):
    """A modest bound, and no aim: rules are never fitted to these labels."""
    text = compared(excerpt)
    same, of, kappa = counts(text, "published judge")
    assert of == 63 and same >= 40 and kappa >= 0.5
    assert counts(text, "offline stand-in")[1] == 63
