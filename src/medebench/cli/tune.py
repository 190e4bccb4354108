"""`tune`: what a system learns from few pairs."""

from __future__ import annotations

import shlex
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medebench.cli.console import (
    Json,
    RetryFailed,
    fail,
    guarded,
    print_json,
    print_line,
    progress_bar,
    say,
)
from medebench.errors import InputError
from medebench.progress import Bar, Progress

if TYPE_CHECKING:
    from medebench.tuning.tuning_call import TuningResult

#: Reasons that are listed.
_MOST = 5


@guarded
def tune(
    cases: Annotated[str, typer.Argument(help="A folder, a file of records or a built-in set.")],
    system: Annotated[
        str,
        typer.Option("--system", "--editor", help="Diffusion model to train, NAME[:key=value]."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the experiment; an existing one goes on.")],
    samples: Annotated[str, typer.Option(help="Numbers of pairs to learn from.")] = "0,4,8,16",
    draws: Annotated[int, typer.Option(min=1, help="How often pairs are drawn.")] = 5,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of each draw.")] = 3,
    steps_per_sample: Annotated[
        int, typer.Option(min=1, help="Steps for each pair (arm per-sample).")
    ] = 50,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1, help="Steps at every number of pairs (arm same-steps); default: the most."
        ),
    ] = None,
    arms: Annotated[
        str | None,
        typer.Option(help="per-sample, same-steps, shuffled, other-task; default: all possible."),
    ] = None,
    controls_at: Annotated[
        str, typer.Option(help="Pairs that controls are trained on; default: the most.")
    ] = "",
    task: Annotated[
        list[str] | None, typer.Option(help="Only this task, or Organ/Task (repeatable).")
    ] = None,
    test: Annotated[int, typer.Option(min=1, help="Cases tested in each task.")] = 30,
    elsewhere: Annotated[
        int, typer.Option(min=0, help="Cases of other tasks, to see what is forgotten.")
    ] = 12,
    in_context: Annotated[
        str, typer.Option(help="A system that is shown the same pairs, such as gemini:MODEL.")
    ] = "",
    demonstrations: Annotated[str, typer.Option(help="How many pairs it is shown.")] = "0,1,2,3",
    metrics: Annotated[
        str | None, typer.Option(help="Metrics, with commas; default: those of the task.")
    ] = None,
    judge: Annotated[str, typer.Option(help="As `medebench score` takes it.")] = "",
    primary: Annotated[
        str, typer.Option(help="The score that decides, declared before anything runs.")
    ] = "",
    seed: Annotated[int, typer.Option(help="Of splits, draws, trainings and outputs.")] = 0,
    train: Annotated[
        list[str] | None,
        typer.Option(
            help="Setting of the training, as in method=full (repeatable).", metavar="K=V"
        ),
    ] = None,
    devices: Annotated[
        str, typer.Option(help="cpu, or GPUs (cuda:0,cuda:1); default: all GPUs, else the CPU.")
    ] = "",
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=512, help="Processes on the CPU; default: two.", metavar="N"),
    ] = None,
    keep: Annotated[
        str, typer.Option(help="adapters, or scores: weights are dropped once used.")
    ] = "adapters",
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="US dollars for the judge, over all of it.")
    ] = None,
    retry_failed: RetryFailed = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would take; do nothing.")
    ] = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="Dry run: train a few steps to know the time.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find out what a system learns from few pairs, beside controls and pairs shown in context.

    Trains it again and again on drawn pairs, always tests it on the same cases, and says what the
    pairs have brought. Interrupted, the same command continues; draws, seeds and samples may be
    added. `medebench run plan.yaml` does the same where the plan has `tuning:`.

    Examples:

        medebench tune SET --system instruct-pix2pix --out tuning --dry-run

        medebench tune SET --system instruct-pix2pix --task "Remove moles" --out moles

        medebench tune SET --system flux-kontext --in-context gemini:NAME --out shown

        medebench tune phantoms:count=260 --system phantom-editor --samples 0,4 --test 3 --out small
    """
    from medebench.tuning.tuning_call import tune as run_tuning

    done = run_tuning(
        cases,
        system,
        out,
        samples=_numbers("--samples", samples),
        draws=draws,
        seeds=seeds,
        steps_per_sample=steps_per_sample,
        steps=steps,
        arms=None if arms is None else [one.strip() for one in arms.split(",") if one.strip()],
        controls_at=_numbers("--controls-at", controls_at),
        tasks=task or (),
        test=test,
        elsewhere=elsewhere,
        in_context=in_context,
        demonstrations=_numbers("--demonstrations", demonstrations),
        metrics=metrics,
        judge=judge,
        primary=primary,
        seed=seed,
        train=_settings(train or []),
        devices=devices,
        workers=workers,
        keep=keep,
        max_cost=max_cost,
        retry_failed=retry_failed,
        dry_run=dry_run,
        measure=measure,
        command="medebench " + shlex.join(sys.argv[1:]) if sys.argv[1:2] == ["tune"] else "",
        bar=_bar_beside(out),
    )
    if done.estimate is not None:
        if as_json:
            print_json(done.estimate.to_json())
        else:
            for line in done.estimate.words():
                print_line(line)
        return
    finish_tuning(done, as_json)


def _bar_beside(out: Path) -> Bar:
    """Bars; before the longest part, where to look at losses and samples meanwhile."""
    from medebench.tuning.tuning_folder import PROGRESS
    from medebench.tuning.tuning_run import TRAINING

    def bar(title: str) -> AbstractContextManager[Progress]:
        if title == TRAINING:
            say(f"meanwhile: {out.expanduser().absolute() / PROGRESS / 'index.html'}")
        return progress_bar(title)

    return bar


def finish_tuning(done: TuningResult, as_json: bool) -> None:
    """What it has come to; exit 1 where something failed or could not be finished."""
    if as_json:
        print_json(tuning_facts(done))
    else:
        for line in done.words:
            print_line(line)
        if done.index is not None:
            say(f"page: {done.index}")
        say_unfinished(done)
    if message := tuning_failure(done):
        raise fail(message, 1)


def tuning_facts(done: TuningResult) -> dict[str, Any]:
    """For machines; all numbers are in the page's folder."""
    left = {} if done.outcome is None else dict(done.outcome.open)
    return {
        "out": str(done.path),
        "page": None if done.index is None else str(done.index),
        "primary": None if done.outcome is None else done.outcome.design.primary,
        "words": list(done.words),
        "trainings": 0 if done.outcome is None else len(done.outcome.trainings),
        "open": left,
        "crashed": dict(done.crashed),
        "stopped": list(done.stopped),
        "failures": dict(done.failures.most_common()),
    }


def say_unfinished(done: TuningResult) -> None:
    for name, reason in list(done.crashed.items())[:_MOST]:
        say(f"  {name}: {reason}")
    for line in done.stopped:
        say(f"not finished: {line}")


def tuning_failure(done: TuningResult) -> str:
    """Why the command ends with 1, or nothing."""
    again = "run again to continue"
    if done.crashed:
        more = len(done.crashed)
        name, reason = next(iter(done.crashed.items()))
        count = "1 training or run" if more == 1 else f"{more} trainings or runs"
        return f"{count} failed, the first ({name}): {reason}; {again}"
    if done.stopped:
        return f"not everything could be finished: {done.stopped[0]}; {again}"
    return done.failures.in_words("call", " of a system or a judge") if done.failures else ""


def _numbers(option: str, text: str) -> list[int]:
    try:
        return [int(one) for one in text.split(",") if one.strip()]
    except ValueError:
        raise InputError(f"{option}: numbers with commas, such as 0,4,8; found '{text}'") from None


def _settings(given: list[str]) -> dict[str, str]:
    """`rank=4`, also several with commas."""
    found: dict[str, str] = {}
    for pair in (pair for one in given for pair in one.split(",") if pair):
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"--train: expected KEY=VALUE, found '{pair}'")
        found[key.strip()] = value.strip()
    return found
