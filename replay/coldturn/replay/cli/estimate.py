"""`coldturn estimate`: cache reads per request, as they could be, should be, and were."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coldturn.analysis.estimates.estimation import Estimation
from coldturn.analysis.estimates.estimator import RequestEstimator, registry_with
from coldturn.analysis.estimates.report import EstimateReport
from coldturn.analysis.estimates.scope import EstimateOptions
from coldturn.analysis.estimates.shares import Share, Spool
from coldturn.analysis.estimates.tokens import BytesWeigh, Weigh, tokenizer
from coldturn.replay.cli.common import print_json, stdout, tell
from coldturn.replay.cli.estimate_inputs import EstimateInputs, columns_of
from coldturn.replay.cli.estimate_shards import MOST_SHARDS, read_in_shares
from coldturn.replay.cli.estimate_view import estimate_text, rules_json, rules_text, validation_text
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.options import Format, Json, Strict, usage_error

LIST = "list"


def estimate(  # noqa: PLR0913, PLR0917 - a command's options are its parameters
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="INPUT", help="A file, a folder, a glob, or - for standard input."),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(
            "--rules",
            metavar="NAME|list",
            help="Use these rules whatever the recording says; list shows all.",
        ),
    ] = None,
    rules_from: Annotated[
        list[Path] | None,
        typer.Option(
            "--rules-from", metavar="PATH", help="A TOML file of rules, or a folder of them, to add."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="K=V", help="Another value for a parameter of the rules."),
    ] = None,
    capacity: Annotated[
        int | None, typer.Option("--capacity", min=1, metavar="N", help="Blocks, or entries, that fit.")
    ] = None,
    tokenizer_: Annotated[
        str | None,
        typer.Option(
            "--tokenizer", metavar="NAME", help="Count tokens with a vocabulary, such as o200k_base."
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="NAME=COLUMN,...",
            help="Columns of a table: input, cached, written, output, model, conversation, call, started.",
        ),
    ] = None,
    validate: Annotated[
        bool, typer.Option("--validate", help="Hold the estimates against what providers reported.")
    ] = False,
    shards: Annotated[
        int,
        typer.Option(
            "--shards",
            min=1,
            max=MOST_SHARDS,
            metavar="N",
            help="Read the input N times, each time for a share of the scopes, in less memory.",
        ),
    ] = 1,
    json: Json = False,
    strict: Strict = False,
    format_: Format = None,
) -> None:
    """Estimate cache reads per request, by the dated rules of its provider.

    Three columns stay apart: the ceiling (a cache without bounds), what the rules say should have hit, and
    what the provider reported. Rules are chosen by format, host and model; without any, nothing is guessed.
    The text shows totals; --json has a row per request. Agents' sessions and tables of usage numbers (JSONL,
    CSV, TSV) are estimated from their counts, call by call.

    Examples:
        coldturn estimate recordings/ --validate

        coldturn estimate trace.jsonl --rules vllm --capacity 10000

        coldturn estimate huge.jsonl --rules vllm --shards 8

        coldturn estimate calls.csv --columns input=prompt,cached=hits

        coldturn estimate --rules list
    """
    registry = registry_with(rules_from or [])
    if rules == LIST:
        found = list(registry)
        print_json(rules_json(found)) if json else stdout().print(rules_text(found))
        return
    if not inputs:
        raise usage_error("give an INPUT: a file, a folder, a glob or - for standard input")
    if rules is not None:
        registry.named(rules)
    options = EstimateOptions(
        rules=rules, parameters=_pairs(set_ or []), capacity=capacity, weigh=_weigh(tokenizer_)
    )
    report = EstimateReport(keep=json or validate)
    given = columns_of(columns)

    def reader(share: Share, spool: Spool | None) -> EstimateInputs:
        estimation = Estimation(RequestEstimator(options, registry), report, share=share, spool=spool)
        return EstimateInputs(estimation, options, registry, given, format_)

    estimation, reading = read_in_shares(reader, shards, inputs, format_)
    estimation.close()
    if json:
        print_json(report.as_json())
    elif report.totals.requests:
        stdout().print(estimate_text(report))
        if validate:
            stdout().print(validation_text(report))
    tell(report.errors)
    raise typer.Exit(_code(estimation, reading, strict=strict))


def _code(estimation: Estimation, reading: ExitCode, *, strict: bool) -> ExitCode:
    """What cannot be evaluated counts when it is all there is, or when the user is strict."""
    report = estimation.report
    if reading is ExitCode.UNUSABLE:
        return reading
    nothing = report.totals.read_estimated is None
    if estimation.unanswered and (nothing or strict):
        return ExitCode.CANNOT_EVALUATE
    if reading is not ExitCode.FINE:
        return reading
    if not report.totals.requests or (strict and report.errors):
        return ExitCode.UNUSABLE
    return ExitCode.FINE


def _pairs(given: list[str]) -> dict[str, str]:
    found = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise usage_error(f"--set {pair}: write it as parameter=value")
        found[name.strip()] = value.strip()
    return found


def _weigh(name: str | None) -> Weigh:
    return BytesWeigh() if name is None else tokenizer(name)
