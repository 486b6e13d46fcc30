"""`coldturn explain`: every prefix break of recorded requests."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from coldturn.analysis.breaks.explain import Explainer
from coldturn.analysis.breaks.findings import Report
from coldturn.analysis.breaks.from_spans import add_trace
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.breaks.texts import explain_texts
from coldturn.analysis.estimates.estimator import RequestEstimator
from coldturn.analysis.verdicts.aliases import WORDS, matches
from coldturn.analysis.verdicts.remedies import ALL_REMEDIES
from coldturn.replay.cli.common import exit_code, print_json, read_all, stdout, tell_errors
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.inputs import Input
from coldturn.replay.cli.judging import DEFAULT, judge_of
from coldturn.replay.cli.options import (
    Context,
    FailOn,
    Format,
    Json,
    MissShare,
    MissTokens,
    NoContent,
    RequestNumber,
    SetParameter,
    Strict,
    UseRules,
    refuse_with_text,
    usage_error,
)
from coldturn.replay.cli.render import Renderer
from coldturn.replay.cli.texts import two_texts
from coldturn.traces.kinds import InputKind

ANY = "any"
NAMED_CAUSES = frozenset(ALL_REMEDIES)


def explain(  # noqa: PLR0913, PLR0917 - a command's options are its parameters
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT", help="A file, a folder, a glob, or - for standard input."),
    ],
    text: Annotated[
        bool, typer.Option("--text", help="Compare two plain texts, the older one first.")
    ] = False,
    request: RequestNumber = None,
    context: Context = 80,
    json: Json = False,
    fail_on: FailOn = None,
    strict: Strict = False,
    no_content: NoContent = False,
    format_: Format = None,
    rules: UseRules = None,
    set_: SetParameter = None,
    miss_tokens: MissTokens = DEFAULT.tokens,
    miss_share: MissShare = DEFAULT.share,
) -> None:
    """Name every prefix break in recorded requests: where, why, what it cost and what to do.

    Text, settings, markers, times and reported usage are looked at. What a break
    cost follows its provider's cache rules. Requests are numbered from 0.

    Examples:
        coldturn explain cassette.yaml

        coldturn explain recordings/ --fail-on any --json

        coldturn explain engine.jsonl --rules vllm --set granularity=784
    """
    wanted = _causes(fail_on or [])
    options = PairOptions(content=not no_content, context=context)
    if text:
        refuse_with_text(
            {
                "--request": request is not None,
                "--format": format_ is not None,
                "--strict": strict,
                "--rules": rules is not None,
                "--set": bool(set_),
            }
        )
        report, reading = explain_texts(*two_texts(inputs), options), ExitCode.FINE
    else:
        # What caches could have served stands in the JSON only.
        judge = judge_of(rules, set_, miss_tokens=miss_tokens, miss_share=miss_share)
        estimator = RequestEstimator(judge.rulebook.options) if json else None
        explainer = Explainer(options, estimator, judge=judge)
        reading = read_all(
            explainer, inputs, format_, lambda one: _from_spans(explainer.report, one, format_)
        )
        report = explainer.report
        if request is not None and 0 < explainer.most_requests <= request:
            raise usage_error(
                f"--request {request}: the inputs hold {explainer.most_requests} requests each at most, "
                "counted from 0"
            )
    finish(report, reading, wanted, strict=strict, as_json=json, request=request)


def _from_spans(report: Report, one: Input, kind: InputKind | None) -> bool:
    """Take the breaks that a trace of ours holds already; standard input cannot be read a second time."""
    return isinstance(one.source, str | Path) and add_trace(report, one.source, one.name, kind)


def finish(
    report: Report,
    reading: ExitCode,
    wanted: frozenset[str],
    *,
    strict: bool,
    as_json: bool,
    request: int | None = None,
) -> None:
    """Print a report and leave with its exit code."""
    if request is not None:
        keep_request(report, request)
    if as_json:
        print_json(report.as_json())
    else:
        whole = reading is ExitCode.FINE
        Renderer(stdout()).report(report, folded=request is None, whole=whole)
    tell_errors(report)
    code = exit_code(report, reading, strict=strict)
    if code is ExitCode.FINE and fails(report, wanted):
        code = ExitCode.FINDING
    raise typer.Exit(code)


def keep_request(report: Report, number: int) -> None:
    """Leave only the findings of one request per source."""
    for lineage in report.lineages:
        lineage.breaks = [found for found in lineage.breaks if found.request == number]
        lineage.settings_changed = [one for one in lineage.settings_changed if one.request == number]
        lineage.vendor_only = [one for one in lineage.vendor_only if one.request == number]


def fails(report: Report, wanted: frozenset[str]) -> bool:
    """Whether a finding is one the user asked to fail on: an unplanned one for `any`, else by its cause."""
    for found in report.breaks:
        if ANY in wanted and found.verdict.unplanned:
            return True
        others = {one.cause for one in found.later} | {one.cause for one in found.alongside}
        if wanted & {found.cause, *others} or any(matches(word, found) for word in wanted & WORDS):
            return True
    return False


def _causes(names: list[str]) -> frozenset[str]:
    wanted = frozenset(names)
    unknown = sorted(wanted - NAMED_CAUSES - WORDS - {ANY})
    if unknown:
        near = get_close_matches(unknown[0].lower(), sorted(NAMED_CAUSES | WORDS | {ANY}))
        meant = f"did you mean {', '.join(near)}? " if near else ""
        raise usage_error(
            f"--fail-on {unknown[0]}: no such cause; {meant}"
            "`coldturn docs causes` explains every cause, and lists providers' words; any stands for all"
        )
    return wanted
