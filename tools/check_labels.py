"""How often a finding is the type that a rater noted, blind, for the same output.

`python tools/check_labels.py EXCERPT` takes over the outputs of the excerpt as runs, judges and
grounds them, and compares with `tests/grounding/data/labels.csv`: once with the offline stand-in,
once with the published judge's scores. Prints the figures of docs/grounding.md in a minute.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import medebench as mb
from medebench.analysis.kappa import cohen_kappa
from medebench.grounding import FAILURE_TYPES
from medebench.runs.ledger import ScoreRow
from medebench.runs.stages.run_diagnosis import FINDING

LABELS = Path(__file__).parent.parent / "tests" / "grounding" / "data" / "labels.csv"
#: In place of a type, where the evidence does not suffice for one.
NONE = "no finding"
#: (case, model)
Key = tuple[str, str]


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("excerpt", type=Path, help="folder with editing/ and generated_images/")
    given.add_argument("--labels", type=Path, default=LABELS, help="CSV of labels")
    options = given.parse_args()
    labels = read_labels(options.labels)
    with TemporaryDirectory() as folder:
        runs = adopt_labelled(options.excerpt, labels, Path(folder))
        mb.score(runs, metrics=["ssim"], judge="offline")
        compare("offline stand-in", labels, find_types(runs))
        if (options.excerpt / "published_scores.json").is_file():
            put_published(runs, options.excerpt)
            compare("published judge", labels, find_types(runs))
    earlier = {key: row["earlier"] for key, row in labels.items() if row["earlier"]}
    print("labels noted earlier for some of the outputs:", end=" ")
    print(agreement({key: labels[key] for key in earlier}, earlier))


def read_labels(path: Path) -> dict[Key, dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return {(row["case"], row["model"]): row for row in rows}


def adopt_labelled(
    excerpt: Path, labels: Mapping[Key, Mapping[str, str]], out: Path
) -> list[mb.Run]:
    cases = mb.load_cases(excerpt)
    models = sorted({model for _, model in labels})
    return [mb.adopt(excerpt / "generated_images" / m, cases, out / m) for m in models]


def put_published(runs: Sequence[mb.Run], excerpt: Path) -> None:
    """The published EA and VQ as scores of a model: from then on findings rest on them."""
    published = json.loads((excerpt / "published_scores.json").read_text(encoding="utf-8"))
    for run in runs:
        with run.locked() as ledger:
            for (case, k), output in ledger.outputs().items():
                for name, key in (("ea", "editing_accuracy"), ("vq", "visual_quality")):
                    value = published[run.name][case][f"gpt4o_{key}_detailed"] / 10
                    row = ScoreRow(case, k, f"{name}_published", output.sha256, value)
                    ledger.write(replace(row, detail={"judge": "published"}))


def find_types(runs: Sequence[mb.Run]) -> dict[Key, str]:
    found = {}
    for run in mb.ground(runs):
        with run.ledger() as ledger:
            for row in ledger.scores():
                if row.metric == FINDING:
                    found[row.case_id, run.name] = str(row.detail.get("type") or NONE)
    return found


def compare(judge: str, labels: Mapping[Key, Mapping[str, str]], found: Mapping[Key, str]) -> None:
    told = {key: kind for key, kind in found.items() if kind != NONE}
    either = sum(found[key] in (row["type"], row["second"]) for key, row in labels.items())
    print(f"{judge}: {agreement(labels, found)}; {either} if a second choice counts")
    print(f"of those with a type: {agreement({key: labels[key] for key in told}, told)}")
    table = Counter((row["type"], found[key]) for key, row in labels.items())
    kinds = [*FAILURE_TYPES, NONE]
    print(f"{'noted / found':>14}" + "".join(f"{kind:>13}" for kind in kinds))
    for noted in FAILURE_TYPES:
        print(f"{noted:>14}" + "".join(f"{table[noted, kind] or '.':>13}" for kind in kinds))
    print()


def agreement(labels: Mapping[Key, Mapping[str, str]], found: Mapping[Key, str]) -> str:
    keys = sorted(labels)
    one = cohen_kappa(
        [labels[key]["type"] for key in keys], [found[key] for key in keys], [c for c, _ in keys]
    )
    ends = one.interval
    between = f"{ends[0]:.2f} to {ends[1]:.2f} over cases" if ends else one.reason
    return f"{one.same} of {one.n}, kappa {one.value:.2f} ({between})"


if __name__ == "__main__":
    main()
