"""A small set in the layout of the release, and runs on it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import medebench as mb
from medebench.grounding.attention_files import write_map
from medebench.images.picture import Picture
from medebench.judge import Verdict
from medebench.runs.ledger import ScoreRow, SetRow

ORGANS = ("Teeth", "Eyes", "Skin")
HOSTILE = (
    "</script><img src=x onerror=alert(1)> \"quoted\" 'single' \u202eRTL \u2028 🦷 $x_1$ {{ 7*7 }}"
)
#: Learned metrics, and the variant of one.
ALEX, ISIM = "lpips_alex", "isim_published_clip-vit-l14"
TALIGN = "talign_description_published_clip-vit-l14"
WEIGHTS = "lpips-1 sha256 0123456789abcdef"


class FakeJudge:
    """Scores from pixels; refuses every third case, so that there are reasons to show."""

    name = "offline-test"
    summary = "for tests"
    stand_in = True
    scores = ("intended_offline", "vq_offline")

    def judge(self, case: mb.OpenCase, output: Picture) -> dict[str, Verdict]:
        near = 1 - float(np.abs(output.astype(float) - case.reference).mean()) / 255
        seen = {"differences": [f"what was seen in {case.case.prompt}", "a second thing"]}
        refused = case.case.id.endswith("3")
        away = Verdict(None, "the judge looked away")
        return {
            "intended_offline": away if refused else Verdict(near),
            "vq_offline": Verdict(near**2, None, seen),
        }


def make_set(folder: Path, count: int = 9, texts: Sequence[str] = ()) -> Path:
    """`count` cases of 64 x 48 pixels; case i has the i-th of `texts` as its prompt."""
    root = folder / "editing"
    for name in ("previous", "changed", "previous_mask"):
        (root / name).mkdir(parents=True)
    samples = []
    for i in range(count):
        rng = np.random.default_rng(i)
        previous = cv2.GaussianBlur(rng.integers(0, 256, (48, 64, 3), dtype=np.uint8), (0, 0), 2)
        changed = previous.copy()
        mask = np.zeros((48, 64), np.uint8)
        # The last ROI leaves too little outside for `cp`.
        size = 46 if i == count - 1 else 12 + 2 * i
        mask[1 : 1 + size, 1 : 1 + size + (16 if size == 46 else 0)] = 255
        changed[mask > 0] = 255 - changed[mask > 0]
        for name, picture in (
            ("previous", previous),
            ("changed", changed),
            ("previous_mask", mask),
        ):
            cv2.imwrite(str(root / name / f"c{i}.png"), picture)
        text = texts[i] if i < len(texts) else f"Remove spot {i}."
        samples.append(
            {
                "id": f"c{i}",
                "Organ": ORGANS[i % 3],
                "Task": f"Remove {'spots' if i % 2 else 'stains'}",
                "prompt": text,
                "rephrased_prompt": f"Please: {text}",
                "detailed_prompt": f"In the photograph, {text}",
                "previous_image": f"editing/previous/c{i}.png",
                "changed_image": f"editing/changed/c{i}.png",
                "previous_mask": f"editing/previous_mask/c{i}.png",
            }
        )
    (root / "editing_metadata.json").write_text(json.dumps({"samples": samples}))
    return folder


def make_runs(
    cases: mb.CaseSet,
    out: Path,
    *,
    models: Sequence[str] = ("good", "poor"),
    controls: Sequence[str] = ("identity", "reference"),
    only: int | None = None,
    judge: Any = None,
) -> list[mb.Run]:
    """Models that come ever less close to the reference, then controls; all scored."""
    runs = []
    for place, name in enumerate(models):
        folder = out / "pictures" / name
        folder.mkdir(parents=True)
        for case in list(cases)[:only]:
            one = mb.open_case(case)
            blurred = cv2.GaussianBlur(np.asarray(one.reference), (0, 0), 0.4 + 2 * place)
            cv2.imwrite(str(folder / f"{case.id}_0.png"), blurred[..., ::-1])
        runs.append(mb.adopt(folder, cases, out / "runs" / name))
    runs += [mb.edit(cases, name, out=out / "runs" / name) for name in controls]
    mb.score(runs, judge=judge)
    return runs


@pytest.fixture(scope="session")
def small_set(tmp_path_factory: pytest.TempPathFactory) -> mb.CaseSet:
    return mb.load_cases(make_set(tmp_path_factory.mktemp("set")))


@pytest.fixture(scope="session")
def runs(small_set: mb.CaseSet, tmp_path_factory: pytest.TempPathFactory) -> list[mb.Run]:
    return make_runs(small_set, tmp_path_factory.mktemp("runs"), judge=FakeJudge())


@pytest.fixture(scope="session")
def report(runs: list[mb.Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from medebench.reporting import build_report

    return build_report(runs, tmp_path_factory.mktemp("report")).index


@pytest.fixture(scope="session")
def read_script() -> Callable[[Path], Any]:
    """The value that a data script of the page sets."""

    def read(path: Path) -> Any:
        text = path.read_text(encoding="utf-8")
        return json.loads(text[text.index("=") + 1 :].rstrip().rstrip(";"))

    return read


def put_scores(
    run: mb.Run,
    metric: str,
    values: Mapping[str, float | None],
    detail: Mapping[str, Any] | None = None,
    cost: float = 0.0,
) -> None:
    """Scores as a judge would have left them in the ledger; None is a refusal."""
    with run.locked() as ledger:
        outputs = ledger.outputs()
        for case, value in values.items():
            reason = "the judge refused to answer" if value is None else None
            row = ScoreRow(case, 0, metric, outputs[case, 0].sha256, value, reason)
            ledger.write(replace(row, detail=dict(detail or {}), cost=cost))


def adopt_copies(cases: mb.CaseSet, out: Path, names: Sequence[str], **few: int) -> list[mb.Run]:
    """Runs of these names that hold the references; `few` says which have only the first cases."""
    runs = []
    for name in names:
        folder = out / "pictures" / name
        folder.mkdir(parents=True)
        for case in list(cases)[: few.get(name)]:
            picture = np.asarray(mb.open_case(case).reference)
            cv2.imwrite(str(folder / f"{case.id}_0.png"), picture[..., ::-1])
        runs.append(mb.adopt(folder, cases, out / "runs" / name))
    return runs


def attend(run: mb.Run, skip: Sequence[str] = ()) -> None:
    """Attention as an editor would have recorded it: half of the ROI, and some noise."""
    with run.locked() as ledger:
        for (case_id, k), row in ledger.outputs().items():
            told: dict[str, Any] = {"concept": "spot", "token": "spot", "source": "instruction"}
            if case_id in skip:
                told = {"reason": "the prompt does not say 'spot'"}
            else:
                roi = mb.open_case(run.cases[case_id]).roi
                heat = np.random.default_rng(k).random(roi.shape) * 0.2
                heat[: roi.shape[0] // 4] += 0.7 * roi[: roi.shape[0] // 4]
                write_map(run.attention_path(case_id, k), (heat / heat.max()).astype(np.float32))
            ledger.write(replace(row, detail=row.detail | {"attention": told}))


def put_set(run: mb.Run, metric: str, parts: Mapping[str, float | str], **changes: Any) -> None:
    """Scores of sets as `score` would have left them; a text is a reason."""
    with run.locked() as ledger:
        rows = []
        for part, found in parts.items():
            value = None if isinstance(found, str) else found
            ends = None if value is None else (value - 1, value + 2)
            row = SetRow(metric, part, ledger.outputs_digest(), "fid-1", value, None, ends, 9, 9)
            rows.append(replace(row, reason=found if isinstance(found, str) else None, **changes))
        ledger.write_sets(metric, rows)


def put_learned(cases: mb.CaseSet, out: Path) -> list[mb.Run]:
    """A is nearer to the reference than B by LPIPS; identity is a control."""
    runs = adopt_copies(cases, out, ["A", "B"])
    runs.append(mb.edit(cases, "identity", out=out / "runs" / "identity"))
    mb.score(runs, metrics=["ssim", "cp"])
    for place, run in enumerate(runs):
        values = {f"c{i}": 0.1 + 0.2 * place + i / 100 for i in range(9)}
        put_scores(run, ALEX, values, {"variant": WEIGHTS})
        put_scores(run, ISIM, {c: 1 - v for c, v in values.items()}, {"variant": "clip one"})
        for i in range(9):
            cut = {"tokens": 90 + i, "read": 77, "encoder": "clip-vit-l14"} if i < 4 else {}
            put_scores(run, TALIGN, {f"c{i}": 0.2}, {"variant": "clip one"} | cut)
    return runs
