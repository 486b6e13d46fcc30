"""Messages: a role, and content as a string, as a list of parts, or as null. Every surface has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from coldturn.reference.prefix import slicing
from coldturn.reference.prefix.dialects.build import (
    Builder,
    Place,
    Rule,
    Span,
    add_part,
    holder_of,
    item_cut,
)
from coldturn.reference.prefix.model import BlockKind
from coldturn.reference.prefix.scanner import Member

OTHER = Rule(BlockKind.OTHER)
_WRAPPERS = ("function", "custom", "toolSpec", "systemTool")
"""Keys under which a tool's own object may stand."""


def _other(_type: str) -> Rule:
    return OTHER


@dataclass(frozen=True, slots=True)
class MessageRules:
    """How a surface writes messages.

    Attributes:
        parts: Rule per `type` of a content part, or per key where parts are named by one (`Rule.inner`).
        fallback: Rule for a type that is not listed.
        content: Key of the content. `single`: whether it may be one part instead of a list.
        roles: The other surfaces' word for a role, where this one has its own.
        signatures: Keys of a part's opaque reasoning, which stands for thoughts in front of the part.
        thought: Key that marks a part's text as reasoning.
        result_roles: Roles whose text is a tool's result; `call_key` ties it to its call.
        before: Keys of strings that render before the content, such as reasoning.
        calls: Key of the list of tool calls, which render behind the content.
        single_call: Key of one call outside a list (OpenAI's older form).
        call_rule: How a call reads; `call_name`: where its tool's name stands.
    """

    parts: Mapping[str, Rule]
    fallback: Callable[[str], Rule] = _other
    content: str = "content"
    single: bool = False
    roles: Mapping[str, str] = field(default_factory=dict)
    signatures: tuple[str, ...] = ()
    thought: str | None = None
    result_roles: frozenset[str] = frozenset()
    call_key: str | None = None
    before: tuple[str, ...] = ()
    calls: str | None = None
    single_call: str | None = None
    call_rule: Rule = OTHER


def read_message(builder: Builder, rules: MessageRules) -> str | None:
    """Add the blocks of the message that is the whole element; returns its role."""
    span = (0, len(builder.data))
    members = builder.members(span)
    if members is None:
        builder.add_json(Place(BlockKind.OTHER, "", "other", None, span), span, (), b"")
        return None
    reader = _Reader(builder, rules, members)
    reader.read()
    return reader.role


def part_of(
    builder: Builder, span: Span, rules: Mapping[str, Rule], fallback: Callable[[str], Rule], role: str | None
) -> tuple[Rule, str, str | None, str | None]:
    """(rule, title, tool name, call id) of the object at `span`."""
    members = builder.members(span)
    if members is None:
        return OTHER, role or "other", None, None
    kind = members.text("type")
    if kind is None:
        kind = "text" if members.text("text") is not None else _named_by_key(members, rules)
    rule = rules.get(kind) or fallback(kind)
    holder = holder_of(builder, members, rule)
    if rule.mime and not any((holder.text(key) or "").startswith("image/") for key in rule.mime):
        rule = replace(rule, kind=BlockKind.OTHER)
    name = tool_name(builder, holder, rule)
    title = role or kind or "text" if rule.text else " ".join(filter(None, (kind or "other", name)))
    return rule, title, name, holder.text(rule.call) if rule.call else None


def _named_by_key(members: slicing.Members, rules: Mapping[str, Rule]) -> str:
    """The key that says what a part without a `type` is; empty when none does."""
    for key in members.by_key:
        if key in rules and rules[key].inner == key:
            return key
    return ""


def tool_name(builder: Builder, members: slicing.Members, rule: Rule) -> str | None:
    """A tool's name, at the rule's key or inside the object that a tool is wrapped in."""
    if rule.name is None:
        return None
    own = members.text(rule.name)
    if own is not None:
        return own
    for key in _WRAPPERS:
        inner = members.get(key)
        found = builder.members((inner.value, inner.end)) if inner is not None else None
        if found is not None:
            return found.text(rule.name)
    return None


class _Reader:
    """Adds one message's blocks; the first of them carries the message's own header."""

    def __init__(self, builder: Builder, rules: MessageRules, members: slicing.Members) -> None:
        self.builder = builder
        self.rules = rules
        self.members = members
        sent = members.text("role")
        self.role = rules.roles.get(sent, sent) if sent is not None else None
        self._title = sent
        self._call_id = members.text(rules.call_key) if rules.call_key else None
        self._whole = (0, len(builder.data))
        self._header = b""

    def read(self) -> None:
        """Add everything, in the order in which providers render it."""
        builder, rules, members = self.builder, self.rules, self.members
        kept = [one.key for one in members.members if not self._renders(one)]
        self._header = builder.header(members, kept)
        for key in rules.before:
            self._string(key, BlockKind.REASONING, f".{key}", key)
        is_result = self.role in rules.result_roles
        kind = BlockKind.TOOL_RESULT if is_result else BlockKind.TEXT
        self._string(rules.content, kind, "", self._title or "other")
        self._parts(kind if is_result else None)
        self._calls()
        if not builder.pieces:
            place = Place(BlockKind.OTHER, "", self._title or "other", self.role, self._whole)
            builder.add_empty(place, self._header)
        builder.take_markers(members, "", len(builder.pieces) - 1)

    def _renders(self, member: Member) -> bool:
        """Whether a member becomes blocks of its own and so is not part of the header."""
        rules = self.rules
        value = self.builder.data[member.value : member.end]
        if member.key == rules.content:
            some = value[:1] == b"[" and value[1:].lstrip()[:1] != b"]"
            return some or value[:1] == b'"' or (rules.single and value[:1] == b"{")
        if member.key in rules.before:
            return value[:1] == b'"'
        if member.key == rules.calls:
            return value[:1] == b"[" and value[1:].lstrip()[:1] != b"]"
        return member.key == rules.single_call and value[:1] == b"{"

    def _take_header(self) -> bytes:
        return b"" if self.builder.pieces else self._header

    def _string(self, key: str, kind: BlockKind, suffix: str, title: str) -> None:
        member = self.members.get(key)
        if member is None or self.builder.data[member.value : member.value + 1] != b'"':
            return
        token = (member.value, member.end)
        span = token if suffix else self._whole
        place = Place(kind, suffix, title, self.role, span, call_id=self._call_id)
        self.builder.add_text(place, token, self._take_header())

    def _parts(self, kind: BlockKind | None) -> None:
        key = self.rules.content
        spans = self._list(key)
        follows = False
        for index, span in enumerate(spans):
            # Bedrock's cachePoint is a part of its own: a marker behind the part before it, and no block.
            suffix, cut = f".{key}[{index}]", item_cut(spans, index, follows=follows)
            if not self.builder.take_lone_marker(span, suffix, cut):
                self._part(span, suffix, kind)
                follows = True
        member = self.members.get(key) if self.rules.single else None
        if member is not None and self.builder.data[member.value : member.value + 1] == b"{":
            self._part((member.value, member.end), f".{key}", kind)

    def _part(self, span: Span, suffix: str, kind: BlockKind | None) -> None:
        builder, rules = self.builder, self.rules
        if builder.data[span[0] : span[0] + 1] == b'"':
            place = Place(kind or BlockKind.TEXT, suffix, self._title or "other", self.role, span)
            builder.add_text(place, span, self._take_header())
            return
        rule, title, name, call_id = part_of(builder, span, rules.parts, rules.fallback, self._title)
        own = kind or (BlockKind.REASONING if self._is_thought(span) else rule.kind)
        aside = self._signed(span, suffix)
        place = Place(own, suffix, title, self.role, span, name, call_id or self._call_id)
        add_part(builder, span, place, rule, self._take_header(), aside)

    def _is_thought(self, span: Span) -> bool:
        key = self.rules.thought
        members = self.builder.members(span) if key is not None else None
        return key is not None and members is not None and members.raw(key) == b"true"

    def _signed(self, span: Span, suffix: str) -> frozenset[str]:
        """Add a part's signature as reasoning in front of it; the keys that are done with."""
        members = self.builder.members(span) if self.rules.signatures else None
        if members is None:
            return frozenset()
        for key in self.rules.signatures:
            member = members.get(key)
            if member is not None and self.builder.data[member.value : member.value + 1] == b'"':
                token = (member.value, member.end)
                place = Place(BlockKind.REASONING, f"{suffix}.{key}", key, self.role, token)
                self.builder.add_text(place, token, self._take_header())
                return frozenset({key})
        return frozenset()

    def _calls(self) -> None:
        rules = self.rules
        spans = self._list(rules.calls) if rules.calls else ()
        for index, span in enumerate(spans):
            self._call(span, f".{rules.calls}[{index}]")
        member = self.members.get(rules.single_call) if rules.single_call else None
        if member is not None and self.builder.data[member.value : member.value + 1] == b"{":
            self._call((member.value, member.end), f".{rules.single_call}")

    def _call(self, span: Span, suffix: str) -> None:
        rule = self.rules.call_rule
        members = self.builder.members(span)
        name = tool_name(self.builder, members, rule) if members else None
        call_id = members.text(rule.call) if members and rule.call else None
        title = name or "tool call"
        place = Place(rule.kind, suffix, title, self.role, span, name, call_id)
        add_part(self.builder, span, place, rule, self._take_header())

    def _list(self, key: str) -> tuple[Span, ...]:
        member = self.members.get(key)
        return (self.builder.items((member.value, member.end)) or ()) if member is not None else ()
