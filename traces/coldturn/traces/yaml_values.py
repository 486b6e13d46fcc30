"""Plain values from YAML, one node of a stream at a time.

libyaml's parser gives events; this module builds dicts, lists and scalars from them. Nothing is ever
constructed from a tag: a tag outside YAML's own types yields an `Opaque`. Aliases are counted as often as
they are used, so a small file cannot unfold into a huge one. Dates stay the text they were: JSON has none.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import IO, Any

from yaml import SafeLoader, YAMLError
from yaml._yaml import CParser
from yaml.constructor import SafeConstructor
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from yaml.nodes import ScalarNode

from coldturn.traces.limits import MAX_DEPTH, MAX_YAML_NODES

_TAG = "tag:yaml.org,2002:"
_CONSTRUCTED = frozenset({f"{_TAG}{name}" for name in ("int", "float", "bool", "null")})
_TEXT = frozenset({f"{_TAG}{name}" for name in ("str", "timestamp", "value", "merge", "python/unicode")})
_COLLECTIONS = frozenset({f"{_TAG}map", f"{_TAG}seq", f"{_TAG}python/tuple", f"{_TAG}python/dict"})


class YamlValueError(Exception):
    """The stream cannot be turned into plain values; the message says why, and on which line.

    Attributes:
        position: Where a character stands that YAML does not allow; the parser finds those ahead of its work.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        self.position = position
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Opaque:
    """A node whose tag names something other than YAML's own types. It was not executed."""

    tag: str


@dataclass(slots=True)
class _Open:
    """A collection that is being filled."""

    value: dict[str, Any] | list[Any]
    anchor: str | None
    tag: str | None
    before: int
    key: str | None = None

    @property
    def awaits_key(self) -> bool:
        return self.key is None and isinstance(self.value, dict)

    def put(self, value: Any) -> None:  # noqa: ANN401 - any YAML value
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.key is not None:
            self.value[self.key] = value
            self.key = None

    def finished(self) -> Any:  # noqa: ANN401 - any YAML value
        return self.value if self.tag is None or self.tag in _COLLECTIONS else Opaque(self.tag)


@dataclass(slots=True)
class ValueStream:
    """A YAML stream read by events, with `value` to take the next node whole."""

    stream: IO[bytes]
    _parser: CParser = field(init=False)
    _anchors: dict[str, tuple[Any, int]] = field(init=False, default_factory=dict)
    _constructor: SafeConstructor = field(init=False, default_factory=SafeConstructor)

    def __post_init__(self) -> None:
        self._parser = CParser(self.stream)

    def next(self) -> Event:
        """The next event.

        Raises:
            YamlValueError: The stream is no YAML from here on.
        """
        try:
            event = self._parser.get_event()
        except YAMLError as error:
            raise YamlValueError(_reason(error), getattr(error, "position", None)) from error
        if event is None:
            raise YamlValueError("the stream ends in the middle")
        return event

    def value(self, event: Event | None = None) -> Any:  # noqa: ANN401 - what a file holds is anything
        """The node that starts at `event` (or at the next one), as plain values.

        Raises:
            YamlValueError: Damaged, too deep, or unfolding beyond the bound.
        """
        event = event or self.next()
        stack: list[_Open] = []
        nodes = 0
        while True:
            nodes += 1
            if isinstance(event, MappingStartEvent | SequenceStartEvent):
                stack.append(_opened(event, nodes, stack))
            else:
                if isinstance(event, CollectionEndEvent):
                    value = self._close(stack.pop(), nodes)
                else:
                    value, weight = self._leaf(event, as_key=bool(stack) and stack[-1].awaits_key)
                    nodes += weight
                if nodes > MAX_YAML_NODES:
                    raise YamlValueError(f"one entry unfolds to more than {MAX_YAML_NODES} nodes")
                if not stack:
                    return value
                if stack[-1].awaits_key:
                    stack[-1].key = value
                else:
                    stack[-1].put(value)
            event = self.next()

    def _close(self, done: _Open, nodes: int) -> Any:  # noqa: ANN401 - any YAML value
        value = done.finished()
        if done.anchor is not None:
            self._anchors[done.anchor] = (value, nodes - done.before)
        return value

    def _leaf(self, event: Event, *, as_key: bool) -> tuple[Any, int]:
        """A scalar's or an alias's value, and what it weighs beyond one node. Keys are always text."""
        if isinstance(event, ScalarEvent):
            value = event.value if as_key else self._scalar(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = (value, 0)
            return value, 0
        if isinstance(event, AliasEvent):
            known = self._anchors.get(event.anchor or "")
            if known is None:
                raise YamlValueError(f"the alias *{event.anchor} names nothing finished{_line(event)}")
            if as_key and not isinstance(known[0], str):
                raise YamlValueError(f"a key is no text{_line(event)}")
            return known
        raise YamlValueError(f"a value was expected{_line(event)}")

    def _scalar(self, event: ScalarEvent) -> Any:  # noqa: ANN401 - a scalar is of any type
        tag = event.tag or _implicit_tag(event)
        if tag in _TEXT:
            return event.value
        if tag == f"{_TAG}binary":
            try:
                return base64.b64decode(event.value, validate=False)
            except (binascii.Error, ValueError) as error:
                raise YamlValueError(f"the binary text is no base64{_line(event)}") from error
        if tag in _CONSTRUCTED:
            try:
                return self._constructor.construct_object(ScalarNode(tag, event.value))
            except (YAMLError, ValueError) as error:
                raise YamlValueError(f"the value is no {tag.removeprefix(_TAG)}{_line(event)}") from error
        return Opaque(tag)


def _implicit_tag(event: ScalarEvent) -> str:
    """The tag that YAML's rules give to an untagged scalar: only plain ones are anything but text."""
    if not event.implicit[0]:
        return f"{_TAG}str"
    resolvers = SafeLoader.yaml_implicit_resolvers
    for tag, pattern in resolvers.get(event.value[:1], ()):
        if pattern.match(event.value):
            return str(tag)
    return f"{_TAG}str"


def _opened(event: MappingStartEvent | SequenceStartEvent, nodes: int, stack: list[_Open]) -> _Open:
    if len(stack) >= MAX_DEPTH:
        raise YamlValueError(f"nested deeper than {MAX_DEPTH} levels{_line(event)}")
    if stack and stack[-1].awaits_key:
        raise YamlValueError(f"a key is no text{_line(event)}")
    value: dict[str, Any] | list[Any] = {} if isinstance(event, MappingStartEvent) else []
    return _Open(value, event.anchor, event.tag, nodes)


def _line(event: Event) -> str:
    mark = event.start_mark if isinstance(event, NodeEvent) else None
    return "" if mark is None else f" (line {mark.line + 1})"


def _reason(error: YAMLError) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "damaged"
    mark = getattr(error, "problem_mark", None)
    line = "" if mark is None else f" (line {mark.line + 1})"
    return f"no YAML: {problem}{line}"
