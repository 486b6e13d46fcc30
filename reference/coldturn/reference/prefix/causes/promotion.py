"""Was a new tool a deferred one that the model asked for? Three kinds of evidence, strongest first."""

from __future__ import annotations

import re

from coldturn.reference.prefix.causes.change import Pair, readable
from coldturn.reference.prefix.causes.topics import enclosing
from coldturn.reference.prefix.elements import Piece
from coldturn.reference.prefix.model import BlockKind, Confidence, Zone

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SEPARATOR = re.compile(r"__|[_.:-]")
_RESULT_NAME = re.compile(rb'\{"function_?[rR]esponse":\{"name":"([^"\\]{1,80})"')
_DISCOVERY_VERBS = frozenset(
    {"search", "find", "discover", "describe", "list", "load", "get", "select", "lookup", "show"}
    | {"enable", "activate", "fetch", "inspect", "query"}
)
_DEFERRED = re.compile(
    r"deferred|not (?:yet )?loaded|load(?:ed)? on demand|available through|tool ?search", re.IGNORECASE
)


class Promotions:
    """What a pair shows about tools that the parent knew of and did not define."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._between = _between(pair)
        tools = frozenset(pair.parent.lazy_blocks.within({Zone.TOOLS}))
        pieces = enumerate(pair.parent.lazy_blocks.pieces())
        self._texts = [piece for index, piece in pieces if index not in tools]

    def confidence(self, name: str) -> Confidence | None:
        """How surely `name` was promoted; None when nothing shows it."""
        if name in self._pair.parent.labels.deferred or self._is_listed(name):
            return Confidence.OBSERVED
        found = [sure for text, sure in self._between if _says(text, name) or _says_parts(text, name)]
        if not found:
            return None
        return Confidence.OBSERVED if any(found) else Confidence.INFERRED

    def _is_listed(self, name: str) -> bool:
        word = name.encode("utf-8", "surrogatepass")
        # Most blocks lack the name, and a look for it costs far less than one for a list.
        named = (block for block in self._texts if word in block.facts.content)
        return any(_says(text, name) for block in named for text in _deferred_texts(block))


def _says(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def _says_parts(text: str, name: str) -> bool:
    """Whether a text names a server and one of its tools, whose exposed name joins the two."""
    return any(
        _says(text, name[: cut.start()].removeprefix("mcp__")) and _says(text, name[cut.end() :])
        for cut in _SEPARATOR.finditer(name)
        if name[: cut.start()] and name[cut.end() :]
    )


def _deferred_texts(block: Piece) -> list[str]:
    """Those paragraphs of a text that stand in a list of deferred tools."""
    if block.kind is not BlockKind.TEXT or not block.facts.is_text:
        return []
    text = readable(block.facts.content)
    if not _DEFERRED.search(text):
        return []
    found: list[str] = []
    announced = False
    for paragraph in re.finditer(r"\S(?:.*\S)?(?:\n(?!\s*\n).*)*", text):
        own = _DEFERRED.search(paragraph[0]) is not None
        under = any(_DEFERRED.search(name) for name in enclosing(text, paragraph.start()))
        if own or under or announced:
            found.append(paragraph[0])
        announced = _DEFERRED.search(paragraph[0].splitlines()[-1]) is not None
    return found


def _between(pair: Pair) -> list[tuple[str, bool]]:
    """Discovery calls and results that the child's history has beyond the parent's.

    Each comes with whether it surely is one: a plain ``search`` may be about anything.
    """
    seen = frozenset(pair.was)
    calls: dict[str, bool] = {}
    found: list[tuple[str, bool]] = []
    pieces = pair.child.lazy_blocks.pieces()
    for block in map(pieces.__getitem__, pair.child_indices(Zone.HISTORY)):
        if block.kind is BlockKind.TEXT:
            continue
        sure = _discovery(block, calls)
        if sure is not None and block.kind is BlockKind.TOOL_CALL and block.call_id:
            calls[block.call_id] = sure
        if sure is not None and block.facts.digest not in seen:
            found.append((readable(block.facts.content), sure))
    return found


def _discovery(block: Piece, calls: dict[str, bool]) -> bool | None:
    """True for a discovery call or its result, False for what may be one, None for anything else."""
    if block.kind is BlockKind.TOOL_RESULT and block.call_id in calls:
        return calls[block.call_id]
    if block.kind is BlockKind.TOOL_RESULT and block.call_id is None:
        # Without ids, a result names its function itself.
        named = _RESULT_NAME.match(block.facts.content)
        return None if named is None else _names_discovery(readable(named[1]))
    if block.kind is BlockKind.TOOL_CALL and block.name:
        return _names_discovery(block.name)
    head = block.facts.header + block.facts.content[:200]
    return (
        True if b"tool_search" in head or b"tool_reference" in head or b"additional_tools" in head else None
    )


def _names_discovery(name: str) -> bool | None:
    words = {word.lower() for word in _WORDS.findall(name)}
    if words & {"tool", "tools", "toolset"} and words & _DISCOVERY_VERBS:
        return True
    return False if words and words <= {"search", "discover", "find", "lookup"} else None
