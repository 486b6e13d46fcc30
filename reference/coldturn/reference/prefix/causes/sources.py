"""Media and documents that say where they come from, and items that stand for a stored one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

from coldturn.reference.prefix.causes.change import BlockPair, Change
from coldturn.reference.prefix.causes.history import History
from coldturn.reference.prefix.causes.runs import exchanged
from coldturn.reference.prefix.causes.schema import Json, Leaf, leaves, parse, parse_run
from coldturn.reference.prefix.model import Block, BlockKind, Confidence

URL = "url"
CITATIONS = "citations"
ITEM_REFERENCE = "item_reference"
EVIDENT = frozenset({URL, CITATIONS, ITEM_REFERENCE})
"""Kinds of a rewritten history that the bytes prove: never another conversation."""

_CAUSE = "history_rewritten"
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^?#]*", re.IGNORECASE)
_REFERENCE = b'"type":"item_reference"'


def signed_url(history: History, block: BlockPair) -> list[Change] | None:
    """The same image or document under the same address, signed anew: only queries of addresses differ."""
    found = _differing(block)
    if not found or not all(_is_same_address(leaf) for leaf in found):
        return None
    return [block.change(_CAUSE, kinds=(URL,))]


def citations(history: History, block: BlockPair) -> list[Change] | None:
    """Citations were turned on or off for a document."""
    found = _differing(block)
    if not found or not all(CITATIONS in leaf.keys for leaf in found):
        return None
    return [block.change(_CAUSE, kinds=(CITATIONS,))]


def _differing(block: BlockPair) -> list[Leaf]:
    """Where two blocks differ; nothing where one is a text, or a call of the model's."""
    was, now = block.was, block.now
    if was.facts.is_text or now.facts.is_text or was.kind is not now.kind or was.kind is BlockKind.TOOL_CALL:
        return []
    if was.facts.content == now.facts.content:
        return []
    return list(leaves(parse(was.facts.content), parse(now.facts.content)))


def _is_same_address(leaf: Leaf) -> bool:
    if not isinstance(leaf.was, str) or not isinstance(leaf.now, str):
        return False
    was, now = _URL.match(leaf.was), _URL.match(leaf.now)
    return was is not None and now is not None and was[0] == now[0]


def references(history: History, lost: Sequence[int], new: Sequence[int]) -> Change | None:
    """Items that were sent whole are named by their ids, or the other way about.

    The provider puts the stored item in the place of its reference, so as a rule the model reads the same.
    """
    old, now = history.pair.parent.blocks, history.pair.child.blocks
    at_end = bool(lost) and lost[-1] == history.was[-1]
    if lost and all(_is_reference(old[index]) for index in lost):
        new = new[: len(lost)] if at_end else new
        whole, named = [now[index] for index in new], [old[index] for index in lost]
    else:
        leading = list(takewhile(lambda index: _is_reference(now[index]), new))
        new = leading if at_end else new
        whole, named = [old[index] for index in lost], [now[index] for index in new]
    if not whole or not named or any(map(_is_reference, whole)) or not all(map(_is_reference, named)):
        return None
    same = _names(whole, named)
    confidence = Confidence.INFERRED if same else Confidence.OBSERVED
    change = exchanged(history, lost, new, _CAUSE)
    return replace(change, kinds=(ITEM_REFERENCE,), harmless=same, confidence=confidence)


def _is_reference(block: Block) -> bool:
    return block.kind is BlockKind.OTHER and _REFERENCE in block.facts.content


def _names(whole: Sequence[Block], named: Sequence[Block]) -> bool:
    """Whether each item has one reference with its id."""
    ids = [one for block in named for one in _ids([parse(block.facts.content)])]
    return bool(ids) and ids == [one for block in whole for one in _ids(parse_run(block.facts.header))]


def _ids(documents: Iterable[Json]) -> Iterable[Json]:
    return (document["id"] for document in documents if isinstance(document, dict) and "id" in document)
