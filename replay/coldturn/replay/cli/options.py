"""Options that several commands have, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

import typer

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces.kinds import InputKind


class UsageError(ColdturnError):
    """Arguments that do not fit together."""

    slug = "usage"


def usage_error(sentence: str) -> UsageError:
    """A `UsageError` with its one sentence."""
    return UsageError(sentence)


def refuse_with_text(given: Mapping[str, bool]) -> None:
    """Refuse options that do nothing beside ``--text``; the values say which were given.

    Raises:
        UsageError: One was.
    """
    for option, is_given in given.items():
        if is_given:
            raise usage_error(
                f"{option} does nothing beside --text, which compares two plain texts: leave one out"
            )


def _sized(context: typer.Context, value: int) -> int:
    _check_window(context, no_content=bool(context.params.get("no_content")))
    return value


def _hidden(context: typer.Context, value: bool) -> bool:
    _check_window(context, no_content=value)
    return value


def _check_window(context: typer.Context, *, no_content: bool) -> None:
    """Refuse a size for windows that are not shown. The later of the two options sees the earlier one.

    Raises:
        UsageError: Both were typed.
    """
    source = context.get_parameter_source("context")
    if no_content and source is not None and source.name == "COMMANDLINE":
        raise usage_error("--context sizes the text that --no-content keeps out: leave one of the two out")


Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Exit 2 when any entry cannot be read, not only when all cannot.")
]
NoContent: TypeAlias = Annotated[
    bool,
    typer.Option("--no-content", help="Keep prompt text out of the output; names stay.", callback=_hidden),
]
Context: TypeAlias = Annotated[
    int,
    typer.Option(
        "--context",
        min=0,
        metavar="N",
        help="Characters to show from the difference on.",
        callback=_sized,
    ),
]


RequestNumber: TypeAlias = Annotated[
    int | None,
    typer.Option("--request", min=0, metavar="N", help="Only request N of each input, counted from 0."),
]
FailOn: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="CAUSE|any",
        help="Exit 1 when this cause is found, by our name or a provider's; any: every unplanned break.",
    ),
]
UseRules: TypeAlias = Annotated[
    str | None,
    typer.Option("--rules", metavar="NAME", help="Judge by these cache rules whatever the recording says."),
]
SetParameter: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="K=V", help="Another value for a parameter of the rules. Repeatable."),
]
MissTokens: TypeAlias = Annotated[
    int,
    typer.Option(
        "--miss-tokens",
        min=0,
        metavar="N",
        help="A reported miss that nothing explains is told from so many tokens on.",
    ),
]
MissShare: TypeAlias = Annotated[
    float,
    typer.Option(
        "--miss-share", min=0, max=1, metavar="X", help="And from this share of what could have been read on."
    ),
]
SecretEnv: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--secret-env", metavar="NAME", help="Keep the value of this environment variable out. Repeatable."
    ),
]
AllowSecrets: TypeAlias = Annotated[
    bool, typer.Option("--allow-secrets", help="Leave what only looks like a key; named values are kept out.")
]
Format: TypeAlias = Annotated[
    InputKind | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"What the inputs are, instead of recognising it from their content: {', '.join(InputKind)}.",
    ),
]
