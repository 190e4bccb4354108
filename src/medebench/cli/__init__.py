"""The command line: each command parses, calls the public API, and prints."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from typing import Annotated

import typer

from medebench import __version__
from medebench.cli import (
    adopt,
    cases_check,
    cases_get,
    cases_make,
    cases_show,
    edit,
    editors,
    export,
    ground,
    judge_audit,
    listing,
    report,
    run,
    score,
    stress,
    study_export,
    study_invite,
    study_new,
    study_results,
    study_serve,
    train,
    train_encoder,
    weights,
)
from medebench.cli.common import log_readably, print_line, say

app = typer.Typer(
    name="medebench",
    help="Benchmark, diagnose and stress-test text-guided medical image editing.\n\n"
    "Start with `medebench run`: it draws phantoms, edits them with a small diffusion model and "
    "the controls, scores and diagnoses the outputs, and ends in a report. "
    "Research software: not for clinical decisions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
cases_app = typer.Typer(
    help="Make, get, check and look at sets of cases.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
judge_app = typer.Typer(
    help="Find out whether a judge can be trusted.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
weights_app = typer.Typer(
    help="See which weights there are, get them, find them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
study_app = typer.Typer(
    help="Let people rank outputs blind, and see which metric to believe.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
train_app = typer.Typer(
    help="Make the built-in models again, and see what they can do.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@judge_app.callback()
def _judge() -> None:
    """A group of commands, though there is one so far."""


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


app.command("run")(run.run)
app.add_typer(cases_app, name="cases")
cases_app.command("make")(cases_make.make)
cases_app.command("get")(cases_get.get)
cases_app.command("check")(cases_check.check)
cases_app.command("show")(cases_show.show)
app.command("edit")(edit.edit)
app.command("adopt")(adopt.adopt)
app.command("score")(score.score)
app.command("ground")(ground.ground)
app.command("report")(report.report)
app.command("export")(export.export)
app.command("editors")(editors.editors)
app.command("metrics")(listing.metrics)
app.command("judges")(listing.judges)
app.add_typer(weights_app, name="weights")
weights_app.command("list")(weights.list_)
weights_app.command("get")(weights.get)
weights_app.command("where")(weights.where)
app.add_typer(judge_app, name="judge")
judge_app.command("audit")(judge_audit.audit)
app.add_typer(study_app, name="study")
study_app.command("new")(study_new.new)
study_app.command("invite")(study_invite.invite)
study_app.command("serve")(study_serve.serve)
study_app.command("results")(study_results.results)
study_app.command("export")(study_export.export)
app.command("stress")(stress.stress)
app.add_typer(train_app, name="train")
train_app.command("phantom-editor")(train.phantom_editor)
train_app.command("chest-model")(train.chest_model)
train_app.command("evaluate")(train.evaluate)
train_app.command("chest-encoder")(train_encoder.chest_encoder)
train_app.command("evaluate-encoder")(train_encoder.evaluate_encoder)


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
