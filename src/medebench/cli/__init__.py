"""The command line: each command parses, calls the public API, and prints."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from medebench import __version__
from medebench.cli import (
    adopt,
    case_commands,
    compare_command,
    describe,
    draw_figure,
    export,
    generate,
    ground,
    judge_audit,
    listing_commands,
    pairing,
    report,
    run,
    score,
    stress,
    study_invite,
    study_new,
    study_results,
    study_serve,
    systems,
    train,
    tune,
    weights,
)
from medebench.cli.console import log_readably, print_line, say

#: By heading of `medebench --help`, the commands; groups of commands with what they are for.
COMMANDS: dict[str, dict[str, Callable[..., Any] | tuple[str, dict[str, Callable[..., Any]]]]] = {
    "Everything at once": {"run": run.run},
    "Step by step": {
        "cases": (
            "Make, get, check and look at sets of cases.",
            {
                "make": case_commands.make,
                "get": case_commands.get,
                "check": case_commands.check,
                "show": case_commands.show,
                "describe": describe.describe,
            },
        ),
        "generate": generate.generate,
        "edit": generate.edit,
        "adopt": adopt.adopt,
        "score": score.score,
        "ground": ground.ground,
        "report": report.report,
        "figure": draw_figure.figure,
        "compare": compare_command.compare,
        "export": export.export,
    },
    "What it learns": {"tune": tune.tune},
    "Whom to trust": {
        "study": (
            "Have people rank outputs blind, and find out which metric agrees with them.",
            {
                "new": study_new.new,
                "invite": study_invite.invite,
                "serve": study_serve.serve,
                "results": study_results.results,
                "export": study_results.export,
            },
        ),
        "pairing": pairing.pairing,
        "judge": ("Find out whether a judge can be trusted.", {"audit": judge_audit.audit}),
        "stress": stress.stress,
    },
    "What there is": {
        "systems": systems.systems,
        "editors": systems.editors,
        "metrics": listing_commands.metrics,
        "judges": listing_commands.judges,
        "weights": (
            "List, download and locate model weights.",
            {"list": weights.list_, "get": weights.get, "where": weights.where},
        ),
    },
    "Built-in models": {
        "train": (
            "Retrain and evaluate the built-in models.",
            {
                "phantom-editor": train.phantom_editor,
                "chest-model": train.chest_model,
                "evaluate": train.evaluate,
                "chest-encoder": train.chest_encoder,
                "evaluate-encoder": train.evaluate_encoder,
            },
        ),
    },
}


class _Group(TyperGroup):
    """Prints what each command does in full, and the program's own commands under headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        headed = COMMANDS if ctx.parent is None else {"Commands": self.commands}
        for heading, names in headed.items():
            found = {name: self.commands[name] for name in names}
            with formatter.section(heading):
                formatter.write_dl(
                    [(name, one.get_short_help_str(200)) for name, one in found.items()]
                )


app = typer.Typer(
    name="medebench",
    cls=_Group,
    help="Benchmark, diagnose and stress-test text-guided medical image editing.\n\n"
    "Start with `medebench run`: it draws phantoms, edits them with a small diffusion model and "
    "the controls, scores and diagnoses the outputs, and writes a report. "
    "Research software: not for clinical decisions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for _commands in COMMANDS.values():
    for name, what in _commands.items():
        if callable(what):
            app.command(name)(what)
            continue
        group = typer.Typer(help=what[0], cls=_Group, no_args_is_help=True, rich_markup_mode=None)
        for inner, function in what[1].items():
            group.command(inner)(function)
        app.add_typer(group, name=name)


def _print_version(value: bool) -> None:
    if value:
        print_line(f"medebench {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    if debug:
        os.environ["MEDEBENCH_DEBUG"] = "1"


def main() -> None:
    # A terminal that cannot show a character gets a question mark, not an error.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # Schedulers and containers end a job so: workers are ended and files closed as with Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    log_readably()
    try:
        app()
    except Exception:
        # With --debug only; a traceback quotes as well.
        say(traceback.format_exc().rstrip())
        sys.exit(1)
