"""`coldturn diff`: two request bodies, or two plain texts."""

from __future__ import annotations

from typing import Annotated

import typer

from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.breaks.texts import explain_pair, explain_texts
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.explain import finish
from coldturn.replay.cli.inputs import STANDARD_INPUT
from coldturn.replay.cli.judging import judge_of
from coldturn.replay.cli.options import (
    Context,
    Format,
    Json,
    NoContent,
    SetParameter,
    UseRules,
    refuse_with_text,
    usage_error,
)
from coldturn.replay.cli.texts import only_request, two_texts


def diff(  # noqa: PLR0913, PLR0917 - a command's options are its parameters
    older: Annotated[str, typer.Argument(metavar="A", help="The older request body (or text).")],
    newer: Annotated[str, typer.Argument(metavar="B", help="The newer one.")],
    text: Annotated[bool, typer.Option("--text", help="Both are plain texts.")] = False,
    context: Context = 80,
    json: Json = False,
    no_content: NoContent = False,
    format_: Format = None,
    rules: UseRules = None,
    set_: SetParameter = None,
) -> None:
    """Compare two request bodies, or two plain texts: the first difference, its cause and what to do.

    Each file holds one request, or one text; - stands for standard input.

    Examples:
        coldturn diff before.json after.json

        coldturn diff --text system-before.md system-after.md
    """
    options = PairOptions(content=not no_content, context=context)
    if [older, newer].count(STANDARD_INPUT) > 1:
        raise usage_error("- can stand for one of the two only: standard input is read once")
    if text:
        refuse_with_text({"--format": format_ is not None, "--rules": rules is not None, "--set": bool(set_)})
        report = explain_texts(*two_texts([older, newer]), options)
    else:
        judge = judge_of(rules, set_)
        pair = only_request(older, format_), only_request(newer, format_)
        report = explain_pair(*pair, options, judge)
    finish(report, ExitCode.FINE, frozenset(), strict=False, as_json=json)
