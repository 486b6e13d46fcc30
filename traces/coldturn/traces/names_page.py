"""The page of the span schema, made from `coldturn.traces.names` and the docstrings of its constants."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise

from coldturn.traces import names

_SECTIONS = (
    ("Every span", (names.On.EVERY, names.On.LABELLED, names.On.RESOURCE)),
    ("`chat {model}`: a step", (names.On.CHAT,)),
    ("`invoke_agent {agent}`: a turn", (names.On.TURN,)),
    (
        "`execute_tool {tool}` and `tools/list`: a tool call, a catalogue refresh",
        (names.On.TOOL, names.On.CALLS, names.On.LIST),
    ),
)

_COLUMNS = "| attribute | type | on | when | example | says |\n|---|---|---|---|---|---|\n"

_HEAD = """\
# Spans

*Made by `python -m coldturn.traces.names > docs/spans.md`; edit `traces/coldturn/traces/names.py` instead.*

A trace file holds one OTLP-JSON span a line: an export request with a single span in it, as the OpenTelemetry
Collector's file exporter writes. A line is complete when its span has ended; nothing is queued, so a killed
process loses only what was still open.

| span | kind | is |
|---|---|---|
| `invoke_agent {agent}` | INTERNAL | a turn, the root of its trace |
| `chat {model}` | CLIENT | a step: one model call; linked to the `chat` span that it was compared with |
| `execute_tool {tool}` | INTERNAL | a tool call on any route |
| `tools/list` | INTERNAL | a refresh of one server's catalogue, all pages of it |

What stands on spans is observed: hashes, lengths, places, the cause of a pair of requests, and usage as the
provider reported it (`gen_ai.usage.*`, `coldturn.usage.raw`). Estimates of cache reads are made later, from
these, by `coldturn.analysis`; the one exception is `coldturn.tool.result.tokens_estimated`, on which elision
acts. A zero that a provider reported is written as 0; what was not reported is absent. Of the prompt's text
only names and headings are on a span.

Byte counts and offsets are of content (what a provider sees once JSON is decoded); `coldturn.wire.*` alone
speaks of the body as sent.
"""


def page() -> str:
    """Return ``docs/spans.md``."""
    parts = [_HEAD]
    rows = list(_attributes())
    for title, places in _SECTIONS:
        parts.append(
            f"\n## {title}\n\n| attribute | type | on | when | example | says |\n|---|---|---|---|---|---|\n"
        )
        parts += [_row(name, says) for name, says in rows if name.on in places]
    parts.append(
        "\n## Other names that the reader accepts\n\n"
        "Usage written by others is read under these names too, the first that stands.\n\n"
        "| ours | also |\n|---|---|\n"
    )
    parts += [
        f"| `{ours}` | {', '.join(f'`{n}`' for n in others)} |\n" for ours, others in names.ALIASES.items()
    ]
    return "".join(parts)


def _row(name: names.Attribute, says: str) -> str:
    example = name.example.replace("|", "\\|")
    return f"| `{name}` | {name.type} | {name.on} | {name.when} | `{example}` | {says} |\n"


def _attributes() -> Iterator[tuple[names.Attribute, str]]:
    """Yield each attribute with the docstring that follows its constant.

    Raises:
        ValueError: A constant has no docstring.
    """
    body = ast.parse(inspect.getsource(names)).body
    for node, after in pairwise(body):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        value = getattr(names, node.target.id)
        if not isinstance(value, names.Attribute):
            continue
        match after:
            case ast.Expr(value=ast.Constant(value=str(says))):
                yield value, says
            case _:
                raise ValueError(f"{node.target.id} has no docstring")
