"""Rollouts of Codex (``~/.codex/sessions/**/rollout-*.jsonl``): a line is ``{timestamp, type, payload}``.

They hold the items of the conversation and a count of tokens behind each call; tools and markers are not in
them, and the system text only where the session's first line carries it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from coldturn.reference.prefix.model import Surface, Zone
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.sessions import (
    NOT_KEPT,
    SessionCall,
    SessionLine,
    count_of,
    list_of,
    loose,
    members_of,
    object_of,
    taken,
    text_of,
)
from coldturn.traces.kinds import InputKind
from coldturn.traces.slices import NotJsonError, array_parts, to_json
from coldturn.traces.usage_record import UsageRecord

_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_ANSWERS = frozenset({
    "reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call",
    "tool_search_call", "image_generation_call", "agent_message",
})  # fmt: skip
"""Items that the model wrote; so did a message whose role is ``assistant``."""


def _is_rollout(head: Head) -> bool:
    if head.layout not in (Layout.LINES, Layout.OBJECT) or not head.any_has("type", "payload"):
        return False
    return any(text_of(one.get("type")) in _TYPES for one in head.objects)


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Every call whose tokens were counted; of one without items of its own (a summary) only the numbers."""
    records: Iterator[Record] = taken(stream, name, _Rollout(name).take)
    yield from records


@dataclass(frozen=True, slots=True)
class _Item:
    entry: int
    raw: bytes
    time: float | None
    answers: bool
    asks: bool


@dataclass(slots=True)
class _Rollout:
    """The conversation so far. Items from `_counted` on belong to the call whose count is to come.

    `_latest` is the entry of the latest call with items, `_compacted_from` the same once it was compacted.
    """

    name: str
    _items: list[_Item] = field(default_factory=list)
    _counted: int = 0
    _model: str = ""
    _instructions: bytes | None = None
    _total: object = None
    _calls: int = 0
    _whole: bool = True
    _latest: int | None = None
    _compacted_from: int | None = None

    def take(self, line: SessionLine) -> Record | None:
        """Take the next line; a call when this is its count.

        Raises:
            NotJsonError: Its payload is damaged where it is needed.
        """
        payload = members_of(line.members.get("payload"))
        match line.text("type"):
            case "session_meta":
                self._begin(payload)
            case "turn_context":
                self._model = text_of(payload.get("model")) or self._model
            case "response_item":
                self._items.append(_item(line, line.members.get("payload", b""), payload))
            case "compacted":
                self._compact(line, payload)
            case "event_msg":
                return self._event(line, payload)
            case _:
                pass
        return None

    def _begin(self, payload: dict[str, bytes]) -> None:
        """The first line of a session; a fork copies those of its parent behind its own."""
        if self._instructions is None:
            base = members_of(payload.get("base_instructions")).get("text", b"")
            self._instructions = base if base[:1] == b'"' else None

    def _event(self, line: SessionLine, payload: dict[str, bytes]) -> Record | None:
        match text_of(payload.get("type")):
            case "token_count":
                return self._count(line, members_of(payload.get("info")))
            case "thread_rolled_back":
                turns = loose(payload.get("num_turns"))
                self._roll_back(turns if isinstance(turns, int) else 0)
            case _:
                pass
        return None

    def _roll_back(self, turns: int) -> None:
        """The user took back so many turns."""
        asked = [place for place, item in enumerate(self._items) if item.asks]
        if 0 < turns <= len(asked):
            del self._items[asked[-turns] :]
            self._counted = min(self._counted, len(self._items))

    def _compact(self, line: SessionLine, payload: dict[str, bytes]) -> None:
        """The history was replaced. Older versions tell the summary alone, and not what else was kept."""
        history = payload.get("replacement_history", b"")
        if history[:1] == b"[":
            raw = array_parts(history)
        else:
            self._whole = False
            content = list_of([object_of(("type", b'"input_text"'), ("text", payload.get("message", b'""')))])
            raw = [object_of(("type", b'"message"'), ("role", b'"user"'), ("content", content))]
        self._items = [_item(line, one, members_of(one)) for one in raw]
        self._counted = len(self._items)
        self._compacted_from = self._latest

    def _count(self, line: SessionLine, info: dict[str, bytes]) -> Record | None:
        """A call, if this counts one: the same count is told again when limits change."""
        usage, total = members_of(info.get("last_token_usage")), loose(info.get("total_token_usage"))
        if (
            not usage
            or not count_of(loose(usage.get("input_tokens")))
            or (total is not None and total == self._total)
        ):
            return None
        self._total = total
        self._calls += 1
        begin = next((at for at in range(self._counted, len(self._items)) if self._items[at].answers), None)
        if begin is None:
            return self._numbers(line, usage)
        call = self._call(begin, usage)
        self._counted = len(self._items)
        self._latest, self._compacted_from = call.entry, None
        return call.exchange(self.name)

    def _call(self, begin: int, usage: dict[str, bytes]) -> SessionCall:
        """What stands in front of the first item that the model wrote was asked; its items are the answer."""
        asked, rest = self._items[:begin], self._items[begin:]
        missing = NOT_KEPT if self._instructions is None else frozenset({Zone.TOOLS})
        return SessionCall(
            entry=rest[0].entry,
            surface=Surface.RESPONSES,
            model=self._model,
            parts=[item.raw for item in asked],
            answer=_answer(self._model, [item.raw for item in rest if item.answers], usage),
            started=max((item.time for item in asked if item.time is not None), default=None),
            missing=missing if self._whole else missing | {Zone.HISTORY},
            instructions=self._instructions,
            compacted_from=self._compacted_from,
        )

    def _numbers(self, line: SessionLine, usage: dict[str, bytes]) -> UsageRecord:
        return UsageRecord(
            source=self.name,
            entry=line.entry,
            conversation=self.name,
            call=self._calls - 1,
            model=self._model,
            provider="openai",
            input_tokens=count_of(loose(usage.get("input_tokens"))),
            cached_tokens=count_of(loose(usage.get("cached_input_tokens"))),
            written_tokens=count_of(loose(usage.get("cache_write_input_tokens"))),
            output_tokens=count_of(loose(usage.get("output_tokens"))),
            started=line.time(),
        )


def _item(line: SessionLine, raw: bytes, members: dict[str, bytes]) -> _Item:
    if not members:
        raise NotJsonError("an item that is no object")
    kind, role = text_of(members.get("type")), text_of(members.get("role"))
    answers = kind in _ANSWERS or (kind == "message" and role == "assistant")
    return _Item(line.entry, raw, line.time(), answers, kind == "message" and role == "user")


def _answer(model: str, items: list[bytes], usage: dict[str, bytes]) -> bytes:
    """The reply in the format of Responses, with the counts under the names that they have there."""
    told = [(key, usage[key]) for key in ("input_tokens", "output_tokens") if key in usage]
    inside = {"cached_tokens": "cached_input_tokens", "cache_write_tokens": "cache_write_input_tokens"}
    details = [(name, usage[key]) for name, key in inside.items() if key in usage]
    counts = object_of(*told, ("input_tokens_details", object_of(*details)))
    return object_of(
        ("object", b'"response"'),
        ("status", b'"completed"'),
        ("model", to_json(model)),
        ("output", list_of(items)),
        ("usage", counts),
    )


FORMATS = (Format(InputKind.CODEX, "a Codex rollout", _is_rollout, read),)
