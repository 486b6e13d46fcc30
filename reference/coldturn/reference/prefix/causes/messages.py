"""Causes of one changed block of the history: one small rule each, the more specific first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from coldturn.reference.prefix.causes.change import BlockPair, Change, lossless, unique
from coldturn.reference.prefix.causes.elision import elision_kind, is_elided_again, result_text
from coldturn.reference.prefix.causes.headers import header_only, is_empty_field
from coldturn.reference.prefix.causes.history import History
from coldturn.reference.prefix.causes.hunks import Texts, hunks
from coldturn.reference.prefix.causes.schema import (
    Json,
    Number,
    leaves,
    parse,
    unwrapped,
)
from coldturn.reference.prefix.causes.sources import citations, signed_url
from coldturn.reference.prefix.causes.system import explained, hunk_change, known_tools
from coldturn.reference.prefix.causes.texts import (
    LONGEST_EXAMINED,
    Reason,
    explain,
    is_equal_plain,
    typed_span,
    whitespace_kinds,
)
from coldturn.reference.prefix.causes.toggles import image_count
from coldturn.reference.prefix.causes.transient import is_reminder, reminder_start
from coldturn.reference.prefix.model import Block, BlockKind, Confidence, Zone

MessageRule: TypeAlias = Callable[[History, BlockPair], list[Change] | None]


def message_changes(history: History, block: BlockPair) -> list[Change]:
    """The causes of one changed block; `history_rewritten` when no rule fits.

    The first rule that fits counts; what others of the whole block say stands alongside.
    """
    for place, rule in enumerate(_RULES):
        changes = rule(history, block)
        if changes:
            others = [other(history, block) for other in _WHOLE if other in _RULES[place + 1 :]]
            first, *rest = changes
            causes = unique((*first.alongside, *(one[0].cause for one in others if one)))
            return [replace(first, alongside=causes), *rest]
    return [block.change("history_rewritten")]


def _transient(history: History, block: BlockPair) -> list[Change] | None:
    labelled = Zone.TRANSIENT in {block.was.zone, block.now.zone}
    tagged = block.was.message in history.reminded and is_reminder(block.was) and is_reminder(block.now)
    if not labelled and not tagged:
        return None
    change = block.change("transient_tail_changed")
    if block.was.facts.is_text and block.now.facts.is_text:
        inner = hunks(
            Texts(block.was.facts.content, block.now.facts.content, change.zone, known_tools(history.pair))
        )
        reasons = [reason for hunk in inner if (reason := explain(hunk)) is not None]
        change = replace(
            change,
            names=unique(name for reason in reasons for name in reason.names),
            alongside=unique(reason.cause for reason in reasons),
        )
    return [change]


def _reminder_at_end(history: History, block: BlockPair) -> list[Change] | None:
    """The tagged end of a last user message whose content is one text."""
    start = reminder_start(block.was.facts)
    if start is None or block.was.message not in history.reminded or not block.now.facts.is_text:
        return None
    kept = reminder_start(block.now.facts)
    was, now = block.was.facts.content, block.now.facts.content
    if was[:start].rstrip() != now[:kept].rstrip():
        return None
    change = block.change("transient_tail_removed" if kept is None else "transient_tail_changed")
    return [replace(change, harmless=block.parent == history.pair.stable_end - 1)]


def _elision(history: History, block: BlockPair) -> list[Change] | None:
    """An old result that became a placeholder or preview."""
    if block.was.kind is not BlockKind.TOOL_RESULT or block.now.kind is not BlockKind.TOOL_RESULT:
        return None
    labelled = _is_planned(history, block)
    was, now = result_text(block.was.facts), result_text(block.now.facts)
    kind = elision_kind(was, now)
    if not labelled and is_elided_again(was, now):
        return [block.change("elision_not_idempotent")]
    if kind is None and not labelled:
        return None
    kinds = (kind,) if kind else ()
    if history.new_turn and (labelled or _seems_planned(history, block)):
        confidence = Confidence.OBSERVED if labelled else Confidence.INFERRED
        change = block.change("planned_elision", confidence=confidence, kinds=kinds)
        return [replace(change, planned=True)]
    return [block.change("elision_moving_boundary", kinds=kinds)]


def _is_planned(history: History, block: BlockPair) -> bool:
    path = block.now.path
    planned = history.pair.child.labels.planned
    return any(path == label or path.startswith(f"{label}.") for label in planned)


def _seems_planned(history: History, block: BlockPair) -> bool:
    """Whether bytes have to decide, since no runtime labelled the request, and the turn was the boundary."""
    return history.pair.child.labels.turn is None and block.child < history.last_user


def _image_in_result(history: History, block: BlockPair) -> list[Change] | None:
    """An image that a tool returned became a text, or is gone; whatever else the result holds stayed."""
    if block.was.kind is not BlockKind.TOOL_RESULT or image_count(block.was) <= image_count(block.now):
        return None
    was, now = (_parts(parse(one.facts.content)) for one in (block.was, block.now))
    if was and now == [part for part in was if not _is_image(part)]:
        return [block.change("image_replaced", kinds=("dropped",))]
    if len(was) != len(now) or not was:
        return None
    changed = [(old, new) for old, new in zip(was, now, strict=True) if old != new]
    if any(not isinstance(new, dict) or "text" not in new for _, new in changed):
        return None
    return [block.change("image_replaced")]


def _is_image(part: Json) -> bool:
    if not isinstance(part, dict):
        return False
    kind = part.get("type")
    return "image" in part or (isinstance(kind, str) and "image" in kind)


def _parts(document: Json) -> list[Json]:
    """The parts of a tool's result that holds several."""
    document = unwrapped(document)
    inner = document.get("content", document.get("output")) if isinstance(document, dict) else document
    return inner if isinstance(inner, list) else []


def _json(history: History, block: BlockPair) -> list[Change] | None:
    """Tool arguments or results that say the same in another spelling."""
    if block.was.facts.content == block.now.facts.content:
        return None
    if block.was.facts.is_text or block.now.facts.is_text:
        return _json_text(block)
    was, now = parse(block.was.facts.content), parse(block.now.facts.content)
    if _canonical(was) == _canonical(now):
        return [block.change("json_format")]
    found = list(leaves(was, now))
    if found and all(map(is_empty_field, found)):
        return [block.change("empty_field")]
    return None


def _json_text(block: BlockPair) -> list[Change] | None:
    if block.now.kind not in {BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT}:
        return None
    was, now = parse(block.was.facts.content), parse(block.now.facts.content)
    if isinstance(was, dict | list) and _canonical(was) == _canonical(now):
        return [block.change("json_format")]
    return None


def _canonical(value: Json) -> object:
    """Numbers by value, key order gone, JSON inside strings decoded."""
    if isinstance(value, Number):
        return _number(value.lexeme)
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        inner = parse(value.encode("utf-8", "replace"))
        return _canonical(inner) if isinstance(inner, dict | list) else value
    return value


def _number(lexeme: str) -> tuple[str, float] | str:
    try:
        return "number", float(lexeme)
    except ValueError:
        return lexeme


def _whitespace(history: History, block: BlockPair) -> list[Change] | None:
    """Equal texts but for white space or Unicode form, also inside a result's JSON."""
    if block.was.kind is not block.now.kind or block.now.kind is BlockKind.TOOL_CALL:
        return None
    texts = _differing_texts(block)
    if not texts or not all(was and was != now and is_equal_plain(was, now) for was, now in texts):
        return None
    kinds = unique(kind for was, now in texts for kind in whitespace_kinds(was, now))
    return [block.change("whitespace_drift", kinds=kinds)]


def _differing_texts(block: BlockPair) -> list[tuple[str, str]]:
    """The texts in which two blocks differ; none when they differ in anything else too."""
    was, now = block.was.facts, block.now.facts
    if was.is_text or now.is_text:
        return [(lossless(was.content), lossless(now.content))]
    found = list(leaves(parse(was.content), parse(now.content)))
    texts = [(leaf.was, leaf.now) for leaf in found]
    pairs = [(old, new) for old, new in texts if isinstance(old, str) and isinstance(new, str)]
    return pairs if len(pairs) == len(texts) else []


_TIMES = frozenset({"clock_in_prefix", "date_rollover"})


def _time_in_result(history: History, block: BlockPair) -> list[Change] | None:
    """A result that carries the time at which it was rendered, inside its JSON."""
    if {block.was.kind, block.now.kind} != {BlockKind.TOOL_RESULT} or block.was.facts.is_text:
        return None
    if max(len(block.was.facts.content), len(block.now.facts.content)) > LONGEST_EXAMINED:
        return None
    reasons = [reason for was, now in _differing_texts(block) for reason in _spans(history, was, now)]
    causes = unique(reason.cause for reason in reasons if reason is not None)
    if not causes or None in reasons or not _TIMES.issuperset(causes):
        return None
    kinds = unique(kind for reason in reasons if reason is not None for kind in reason.kinds)
    return [block.change(causes[0], kinds=kinds, alongside=causes[1:])]


def _spans(history: History, was: str, now: str) -> list[Reason | None]:
    old, new = (text.encode("utf-8", "surrogatepass") for text in (was, now))
    return [typed_span(hunk) for hunk in hunks(Texts(old, new, Zone.HISTORY, known_tools(history.pair)))]


def _result_shape(history: History, block: BlockPair) -> list[Change] | None:
    """A result as one text, and as a list with that text."""
    was, now = block.was.facts, block.now.facts
    if {block.was.kind, block.now.kind} != {BlockKind.TOOL_RESULT} or was.is_text or now.is_text:
        return None
    shapes = [_parts(parse(one.content)) for one in (was, now)]
    listed = [parts for parts in shapes if parts]
    same = result_text(was) == result_text(now)
    if len(listed) != 1 or not same or not all(map(_is_plain_text, listed[0])):
        return None
    return [block.change("content_shape")]


def _is_plain_text(part: Json) -> bool:
    return isinstance(part, dict) and "text" in part and set(part) <= {"type", "text"}


def _text(history: History, block: BlockPair) -> list[Change] | None:
    """Hunk by hunk, what changed in a text."""
    was, now = block.was.facts, block.now.facts
    if not (was.is_text and now.is_text) or was.content == now.content:
        return None
    texts = Texts(was.content, now.content, block.now.zone, known_tools(history.pair))
    changes: list[Change] = []
    for hunk, reason in explained(texts):
        changes.append(hunk_change(block, hunk, _in_history(reason)))
    return changes


def _in_history(reason: Reason | None) -> Reason:
    """A reason that can stand in a message; a random id is none of the system prompt's there."""
    if reason is None or reason.cause == "random_id_in_system":
        return Reason("history_rewritten", kinds=reason.kinds if reason else ())
    return reason


_RULES: tuple[MessageRule, ...] = (
    _transient,
    _reminder_at_end,
    header_only,
    signed_url,
    citations,
    _image_in_result,
    _result_shape,
    _whitespace,
    _elision,
    _json,
    _time_in_result,
    _text,
)


_WHOLE: tuple[MessageRule, ...] = (_image_in_result, _whitespace, _elision, _json)
"""Rules that look at a block as a whole; line by line it would cost too much to ask for nothing."""


def is_transient(history: History, block: Block) -> bool:
    """Whether nobody meant to repeat a block of the parent."""
    return block.zone is Zone.TRANSIENT or (block.message in history.reminded and is_reminder(block))
