"""JSON documents in any spelling that a sender may choose, and request bodies that were tampered with."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st

from coldturn.reference.prefix.model import Surface
from prefix.bodies import Assistant, Item, Result, Tool, User, body, tool

Path: TypeAlias = tuple[str | int, ...]

WORDS = (
    "ok",
    "caf\u0065\u0301",
    "caf\u00e9",
    "\U0001f600",
    "\ud800",
    "\x00",
    "\u2028",
    "10:01",
    "/runs/a1b2c3d4e5f6",
)
LONG = (
    "# One\n\ntext\n\n## Two\n\n- a: b\n- c: d\n",
    "<memory>\nx\n</memory>\n",
    "a line\n" * 400,
    "word, " * 900,
)
TEXTS = st.one_of(
    st.text(st.sampled_from('ab 1#<>/-:"\\\n\r\t\u00e9\ud800'), max_size=40),
    st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
    st.sampled_from(LONG),
)
LEXEMES = st.sampled_from(
    ["0", "1", "1.0", "-0", "1e2", "1E+2", "100", "1e999", "9" * 40, "true", "false", "null"]
)
KEYS = st.sampled_from(
    [
        "type",
        "text",
        "content",
        "role",
        "id",
        "tool_calls",
        "input",
        "parts",
        "cache_control",
        "name",
        "output",
    ]
) | st.text(max_size=3)
SPACES = st.sampled_from(["", "", "", " ", "\n", " \t\r\n "])


@st.composite
def documents(draw: st.DrawFn, depth: int = 4) -> str:
    """A JSON document as text; keys may repeat."""
    kind = draw(st.sampled_from("snoa" if depth else "sn"))
    space = draw(SPACES)
    if kind == "n":
        return draw(LEXEMES)
    if kind == "s":
        return json.dumps(draw(TEXTS), ensure_ascii=draw(st.booleans()))
    inner = [draw(documents(depth=depth - 1)) for _ in range(draw(st.integers(0, 3)))]
    if kind == "a":
        return f"[{space}{f'{space},'.join(inner)}{space}]"
    rows = [f"{json.dumps(draw(KEYS))}{space}:{one}" for one in inner]
    return f"{{{space}{f',{space}'.join(rows)}{space}}}"


def in_bytes(text: str) -> bytes:
    """As a careless sender writes it: a lone surrogate becomes the three bytes that no UTF-8 has."""
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Talk:
    """A plain conversation, to be written on any surface."""

    system: str
    tools: tuple[Tool, ...]
    history: tuple[Item, ...]

    def on(self, surface: Surface) -> dict[str, Any]:
        """Its body."""
        return body(surface, system=self.system, tools=self.tools, history=self.history)


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    names = draw(st.lists(st.sampled_from("abcde"), unique=True, max_size=3))
    tools = tuple(tool(name, draw(TEXTS)) for name in names)
    items: list[Item] = []
    for number in range(draw(st.integers(1, 4))):
        items.append(
            User(draw(TEXTS) or "q", draw(st.sampled_from(["", "", "<system-reminder>x</system-reminder>"])))
        )
        for step in range(draw(st.integers(0, 2))):
            arguments = json.dumps({"q": draw(TEXTS)})
            items.append(Assistant(draw(TEXTS), (f"c{number}_{step}", "a", arguments), draw(TEXTS)))
            items.append(Result(f"c{number}_{step}", draw(TEXTS)))
        items.append(Assistant(draw(TEXTS) or "a"))
    return Talk(draw(TEXTS) or "s", tools, tuple(items))


ODD: tuple[Any, ...] = (
    None,
    {},
    [],
    "",
    0,
    1.5,
    True,
    {"text": None},
    [[]],
    [None],
    {"type": "text"},
    "x" * 70,
)


@st.composite
def tampered(draw: st.DrawFn, value: dict[str, Any]) -> dict[str, Any]:
    """A body with one to three places taken out, doubled, exchanged, or replaced by what does not belong."""
    found: Any = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(found))
        if not places:
            return dict(found)
        holder, key = _holder(found, draw(st.sampled_from(places)))
        _change(draw, holder, key)
    return dict(found)


def _change(draw: st.DrawFn, holder: Any, key: str | int) -> None:  # noqa: ANN401 - any JSON
    match draw(st.sampled_from(("odd", "out", "double", "exchange", "text"))):
        case "out":
            del holder[key]
        case "double" if isinstance(holder, list):
            holder.insert(int(key), copy.deepcopy(holder[int(key)]))
        case "exchange" if isinstance(holder, list):
            other = draw(st.integers(0, len(holder) - 1))
            holder[int(key)], holder[other] = holder[other], holder[int(key)]
        case "text":
            holder[key] = draw(TEXTS)
        case _:
            holder[key] = copy.deepcopy(draw(st.sampled_from(ODD)))


def _places(value: Any, path: Path = ()) -> Iterator[Path]:  # noqa: ANN401 - any JSON
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from _places(one, (*path, key))


def _holder(value: Any, path: Path) -> tuple[Any, str | int]:  # noqa: ANN401 - any JSON
    for key in path[:-1]:
        value = value[key]
    return value, path[-1]


SPELLINGS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"separators": (",", ":"), "ensure_ascii": True},
        {"separators": (", ", ": "), "ensure_ascii": False},
        {"indent": 1, "ensure_ascii": False},
    ]
)


@st.composite
def spelled(draw: st.DrawFn, value: dict[str, Any]) -> bytes:
    """A body as bytes, in one of the spellings."""
    return in_bytes(json.dumps(value, **draw(SPELLINGS)))
