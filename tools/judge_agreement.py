"""How the stand-in agrees with the published judge: `python tools/judge_agreement.py EXCERPT`.

Per case, Spearman's correlation over the models that were judged; the mean over cases with a 95 %
interval (Student's t over cases). Nothing of medebench is fitted to these scores.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy import stats

import medebench as mb
from medebench.images.picture import read_picture
from medebench.judge import assess_now, find_judge
from medebench.metrics import Undefined, find_metrics

#: Ours, and the published judge's score it is held against.
PAIRS = (
    ("intended_offline", "editing_accuracy"),
    ("edit_completion", "editing_accuracy"),
    ("psnr", "editing_accuracy"),
    ("vq_offline", "editing_accuracy"),
    ("vq_offline", "visual_quality"),
)


def agreement(excerpt: Path) -> dict[tuple[str, str], list[float]]:
    """(ours, theirs) -> the correlation of each case in which both vary."""
    published = json.loads((excerpt / "published_scores.json").read_text("utf-8"))
    cases, judge = mb.load_cases(excerpt), find_judge("offline")
    metrics = find_metrics(["edit_completion", "psnr"])
    found: dict[tuple[str, str], list[float]] = {pair: [] for pair in PAIRS}
    for case_id in next(iter(published.values())):
        case = mb.open_case(cases[case_id])
        ours: dict[str, list[float]] = {}
        for model in published:
            path = excerpt / "generated_images" / model / f"{case_id}_0.png"
            output = case.fit(read_picture(path))
            verdicts = assess_now(judge, case, output).verdicts
            values = {name: one.value for name, one in verdicts.items()}
            for metric in metrics:
                try:
                    values[metric.name] = metric(case, output)
                except Undefined:
                    values[metric.name] = None
            for name, value in values.items():
                ours.setdefault(name, []).append(np.nan if value is None else value)
        for name, theirs in PAIRS:
            judged = [published[m][case_id][f"gpt4o_{theirs}_detailed"] for m in published]
            known = np.isfinite(ours[name])
            first, second = np.asarray(ours[name])[known], np.asarray(judged)[known]
            if len(set(first)) > 1 and len(set(second)) > 1:
                found[name, theirs].append(float(stats.spearmanr(first, second).statistic))
    return found


def line(name: str, theirs: str, values: list[float]) -> str:
    mean, count = float(np.mean(values)), len(values)
    reach = stats.t.ppf(0.975, count - 1) * np.std(values, ddof=1) / np.sqrt(count)
    ends = f"{mean - reach:+.2f} to {min(1.0, mean + reach):+.2f}"
    return f"| `{name}` | {theirs.replace('_', ' ')} | {mean:+.2f} | {ends} | {count} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("excerpt", type=Path, help="folder with published_scores.json")
    found = agreement(parser.parse_args().excerpt)
    print(
        "| ours | published judge's | mean rho | 95 % interval | cases |\n|---|---|---:|---|---:|"
    )
    for (name, theirs), values in found.items():
        print(line(name, theirs, values))


if __name__ == "__main__":
    main()
