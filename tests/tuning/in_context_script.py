"""Only the runs of the system that is shown pairs, in a process that can be killed."""

from __future__ import annotations

import sys
from pathlib import Path

from medebench.tuning.tuning_call import prepare
from medebench.tuning.tuning_design import TuningDesign
from medebench.tuning.tuning_folder import begin_tuning
from medebench.tuning.tuning_run import TuningWork


def show(cases: Path, system: str, in_context: str, out: Path) -> TuningWork:
    design = TuningDesign(
        system,
        samples=(0, 3),
        draws=2,
        seeds=1,
        arms=("per-sample",),
        test=3,
        in_context=in_context,
        metrics=("cp",),
        primary="cp",
    )
    plan = prepare(cases, design, out)
    work = plan.work("cpu", 1)
    begin_tuning(out, plan.folder.design, plan.folder.split, plan.folder.facts)
    work.show()
    return work


if __name__ == "__main__":
    cases, system, in_context, out = sys.argv[1:]
    show(Path(cases), system, in_context, Path(out))
