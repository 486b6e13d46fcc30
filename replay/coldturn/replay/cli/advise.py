"""`coldturn advise`: what mending each cause of a recording would have been worth."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from coldturn.analysis.advise.advisor import Simulation, Survey
from coldturn.analysis.advise.report import Advice
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.estimates.estimator import RequestEstimator, registry_with
from coldturn.analysis.estimates.scope import EstimateOptions
from coldturn.replay.cli.advise_view import advice_text
from coldturn.replay.cli.common import Taker, exit_code, print_json, read_all, stdout, tell
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.inputs import Input
from coldturn.replay.cli.kept_inputs import KeptInputs
from coldturn.replay.cli.options import Format, Json, NoContent, Strict
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_exchanges


def advise(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT", help="A file, a folder, a glob, or - for standard input."),
    ],
    rules: Annotated[
        str | None,
        typer.Option("--rules", metavar="NAME", help="Use these rules whatever the recording says."),
    ] = None,
    rules_from: Annotated[
        list[Path] | None,
        typer.Option(
            "--rules-from", metavar="PATH", help="A TOML file of rules, or a folder of them, to add."
        ),
    ] = None,
    json: Json = False,
    strict: Strict = False,
    no_content: NoContent = False,
    format_: Format = None,
) -> None:
    """Rank what could be mended by the tokens that it would have saved.

    Every request of the recording is sent again in a simulation: once for each cause of a break, with that
    one mended and all else as it was, and once with all of them mended. What caches would have served is
    estimated by the provider's rules, as `coldturn estimate` does it.

    Examples:
        coldturn advise recordings/agent.jsonl

        coldturn advise requests.jsonl --rules vllm --json
    """
    registry = registry_with(rules_from or [])
    if rules is not None:
        registry.named(rules)

    def estimator() -> RequestEstimator:
        return RequestEstimator(EstimateOptions(rules=rules), registry)

    with ExitStack() as stack:
        kept = KeptInputs(stack)
        survey = Survey(PairOptions(content=not no_content))
        reading = read_all(survey, inputs, format_, first=_reader(survey, kept, format_))
        simulation = Simulation(survey, estimator)
        if survey.causes:
            read_all(simulation, inputs, format_, first=_reader(simulation, kept, format_))
    advice = simulation.advice
    found = survey.explainer.report
    if json:
        print_json(advice.as_json())
    elif found.requests:
        stdout().print(advice_text(advice, found.requests))
    tell(advice.errors)
    code = exit_code(found, reading, strict=strict)
    raise typer.Exit(ExitCode.CANNOT_EVALUATE if code is ExitCode.FINE and _unanswered(advice) else code)


def _unanswered(advice: Advice) -> bool:
    """Whether there is something to mend, and no rules to tell its worth by."""
    return bool(advice.remedies) and not advice.before.requests


def _reader(taker: Taker, kept: KeptInputs, kind: InputKind | None) -> Callable[[Input], bool]:
    """Reads an input as often as it is asked to."""

    def take(one: Input) -> bool:
        for item in read_exchanges(kept.again(one).source, name=one.name, kind=kind):
            taker.add(item)
        taker.finish(one.name)
        return True

    return take
