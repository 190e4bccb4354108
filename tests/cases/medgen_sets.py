"""The same invented cases of MedGEN-Bench, written in every spelling that its releases have."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image

from medebench.cases.medgen_names import RELEASED, TASK_FORMATS
from medebench.images.input_sheet import input_sheet
from medebench.images.picture import read_picture

CATEGORY = {"vqa": "VQA", "editing": "ImageEdit", "generation": "MMGeneration"}
CONFIGS = {"vqa": "vqa", "editing": "image_editing", "generation": "multimodal_generation"}
VIEW = {"vqa": "vqa.jsonl", "editing": "edit.jsonl", "generation": "gen.jsonl"}
OPTIONS = ["A. Upper left", "B. Lower left", "C. Upper right", "D. Lower right"]
MODALITIES = ["CT", "Magnetic_Resonance_Imaging", "Ultrasound", "Radiograph", "Pathology", "Photo"]
REPORT = {
    "IMPRESSION": "Small effusion.",
    "FINDINGS": {"lungs": ["clear", "no nodule"], "pleura": "left effusion"},
    "TECHNIQUE": "One view.",
}


def picture(seed: int, size: tuple[int, int] = (24, 32)) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


Record = dict[str, Any]


def records(each: int = 2, metadata: bool = True) -> list[tuple[Record, dict[str, bytes]]]:
    """Canonical records and their images, `each` of every task."""
    made = []
    for task, form in TASK_FORMATS.items():
        for number in range(each):
            at = len(made)
            made.append(_record(task, form, number, at))
            if not metadata:
                made[-1][0]["metadata"] = {}
    return made


def _record(task: str, form: str, number: int, at: int) -> tuple[Record, dict[str, bytes]]:
    images = {f"images/in_{number}_0.png": picture(at)}
    if form == "vqa" and number % 2:
        images |= {f"images/in_{number}_{k}.png": picture(1000 + 10 * at + k) for k in (1, 2)}
    record: Record = {
        "category": CATEGORY[form],
        "sub-category": task,
        "paper_format": RELEASED[form],
        "paper_task": task,
        "paper_subtask": None if form == "vqa" else f"Kind {number} of {task}",
        "observed_subtask": None,
        "modality": MODALITIES[at % 6],
        "in-out": "image-text_to_text",
        "source": "INVENTED",
        "instruction": f"Look at image {at} and do what {task} asks for.",
        "choice": [],
        "answer": f"A finding of kind {at}.",
        "input_image": list(images),
        "ground_truth_image": [],
        "metadata": {"unique_id": f"{at:04d}"},
    }
    if form != "vqa":
        size = (48, 64) if task == "resolution-editing" else (24, 32)
        images[f"images/out_{number}.png"] = picture(5000 + at, size)
        record["ground_truth_image"] = [f"images/out_{number}.png"]
    if task == "multiple-choice":
        record["instruction"] = "Question: Where is it?\n\nOptions:\n" + "\n".join(OPTIONS)
        record |= {"choice": OPTIONS, "answer": OPTIONS[number % 4]}
    elif task == "blank-filling":
        record |= {"instruction": "The lesion is ____.", "answer": "round"}
    elif task == "question-answering":
        told = {"correct_answer": "C. heart", "original_options": ["A. lung", "B. rib", "C. heart"]}
        record["metadata"] |= told
    elif task == "report-generation" and not number % 2:
        record["answer"] = REPORT
    elif task in ("instruction-editing", "organic-reconstruction"):
        record["metadata"]["bbox"] = [0.5, 0.25, 0.25, 0.5]
    return record, images


def write_lines(path: Path, values: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in values), "utf-8")


def write_images(folder: Path, images: dict[str, bytes]) -> None:
    for name, data in images.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def write_canonical(root: Path, made: list[tuple[Record, dict[str, bytes]]]) -> Path:
    by_task: dict[tuple[str, str], list[Record]] = {}
    for record, images in made:
        place = (record["paper_format"], record["sub-category"])
        by_task.setdefault(place, []).append(record)
        write_images(root / place[0] / place[1], images)
    for (form, task), found in by_task.items():
        write_lines(root / form / task / "data.jsonl", found)
    table: dict[str, list[str]] = {}
    for form, task in by_task:
        table.setdefault(form, []).append(task)
    counts = {f"{form}/{task}": {"record_count": len(of)} for (form, task), of in by_task.items()}
    told = {"actual_record_count": len(made)}
    manifest = {"table_iv": table, "tasks": counts, "validation": told}
    (root / "manifest.json").write_text(json.dumps(manifest))
    return root


def write_view(view: Path, canonical: Path) -> Path:
    """As the published script makes it: one file a format, a link to the release, sheets."""
    view.mkdir(parents=True)
    (view / "source").symlink_to(canonical)
    for form, name in VIEW.items():
        lines = []
        for task in (task for task, own in TASK_FORMATS.items() if own == form):
            data = canonical / RELEASED[form] / task / "data.jsonl"
            for line, text in enumerate(data.read_text().splitlines(), 1):
                lines.append(_viewed(json.loads(text), form, task, line, view))
        write_lines(view / name, lines)
        write_lines(view / f"smoke_{name}", lines[:1])
    return view


def _viewed(record: Record, form: str, task: str, line: int, view: Path) -> Record:
    names, targets = record["input_image"], record["ground_truth_image"]
    top = f"source/{RELEASED[form]}/{task}"
    found = copy.deepcopy(record)
    found["input_images"] = [f"{top}/{name}" for name in names]
    found["input_image"] = found["input_images"][0]
    if len(names) > 1:
        sheet = f"images/vqa_contact_sheets/{task}-{line}.png"
        pixels = input_sheet([read_picture(view / one) for one in found["input_images"]])
        (view / sheet).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(view / sheet)
        found["input_image"] = sheet
    found["ground_truth_images"] = [f"{top}/{name}" for name in targets]
    del found["ground_truth_image"]
    if targets:
        found["ground_truth_image"] = found["ground_truth_images"][0]
    found["sample_id"] = f"tableiv:{RELEASED[form]}:{task}:{line:06d}"
    found["eval_adapter"] = {
        "source_data_jsonl": f"{RELEASED[form]}/{task}/data.jsonl",
        "source_line": line,
        "input_strategy": "single" if len(names) == 1 else "labeled_contact_sheet",
        "original_input_image": names,
        "original_ground_truth_image": targets,
    }
    return found


def parquet_row(record: Record, images: dict[str, bytes]) -> Record:
    def several(names: list[str]) -> list[dict[str, Any]]:
        return [{"bytes": images[name], "path": Path(name).name} for name in names]

    answer = record["answer"]
    row = {
        "input_images": several(record["input_image"]),
        "output_images": several(record["ground_truth_image"]),
        "instruction": record["instruction"],
        "answer": answer if isinstance(answer, str) else json.dumps(answer),
        "task": record["sub-category"],
        "subtask": record["paper_subtask"],
        "modality": record["modality"],
    }
    if record["paper_format"] == "VQA":
        del row["output_images"]
    if record["paper_format"] == "ImageEditing":
        del row["answer"]
    return row


def write_parquet(root: Path, made: list[tuple[Record, dict[str, bytes]]], shards: int = 2) -> Path:
    for form, config in CONFIGS.items():
        rows = [parquet_row(*one) for one in made if one[0]["paper_format"] == RELEASED[form]]
        folder = root / "parquet" / config
        folder.mkdir(parents=True)
        step = -(-len(rows) // shards)
        for number in range(shards):
            frame = pl.DataFrame(
                rows[number * step : (number + 1) * step], schema_overrides={"subtask": pl.String}
            )
            frame.write_parquet(folder / f"train-{number:05d}-of-{shards:05d}.parquet")
    return root


def write_sample(root: Path, made: list[tuple[Record, dict[str, bytes]]]) -> Path:
    counts: dict[str, int] = {}
    lines = []
    for at, (record, images) in enumerate(made, start=1):
        task = record["sub-category"]
        names = {name: f"images/S{at:02d}_{Path(name).name}" for name in images}
        write_images(root, {names[name]: data for name, data in images.items()})
        lines.append(
            {
                "format": record["paper_format"],
                "task": task,
                "named_subtask": record["paper_subtask"],
                "instruction": record["instruction"],
                "choices": record["choice"],
                "answer": record["answer"],
                "input_files": [names[name] for name in record["input_image"]],
                "reference_files": [names[name] for name in record["ground_truth_image"]],
                "recorded_modality": record["modality"],
                "canonical_modality": "Other / unspecified",
                "source_dataset_label": record["source"],
                "metadata": record["metadata"],
                "record_index_within_task_file": counts.get(task, 0),
                "sample_id": f"S{at:02d}",
            }
        )
        counts[task] = counts.get(task, 0) + 1
    write_lines(root / "records.jsonl", lines)
    return root
