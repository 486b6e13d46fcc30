"""A request body as a prompt: blocks in the provider's render order, cache markers aside.

Reading costs what is new: an element whose bytes were read before (and are still held by somebody) is found
by its digest. Blocks with their paths are built when somebody asks for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from xxhash import xxh3_128_digest

from coldturn.reference.prefix import recognise, slicing
from coldturn.reference.prefix.dialects import chat_completions, messages, responses
from coldturn.reference.prefix.dialects.build import Dialect, Group
from coldturn.reference.prefix.elements import Content, Element, Piece, WeakTable
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.markers import MARKER_KEYS
from coldturn.reference.prefix.model import (
    NO_LABELS,
    Block,
    Fidelity,
    Labels,
    Marker,
    Surface,
    Zone,
)
from coldturn.reference.prefix.recognise import recognise_surface

__all__ = ["PromptRequest", "read_request", "recognise_surface"]

DIALECTS: Mapping[Surface, Dialect] = {
    one.surface: one for one in (messages.DIALECT, chat_completions.DIALECT, responses.DIALECT)
}
_ELEMENTS: Mapping[tuple[Surface, str], WeakTable[Element]] = {
    (one.surface, group.key): WeakTable() for one in DIALECTS.values() for group in one.groups
}
_MODEL_IN_PATH = re.compile(r"/models?/([^/:]+(?::\d+)?)")


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """One top-level key's elements in one body.

    Attributes:
        listed: Whether the value is a list: its elements then have an index in their path.
        starts: Where each element stands in the body.
        leading: How many elements at the start stand in zone system.
    """

    group: Group
    listed: bool
    elements: tuple[Element, ...]
    starts: tuple[int, ...]
    leading: int


class PromptRequest:
    """What one model request says, as far as its bytes tell.

    Attributes:
        provider: ``gen_ai.provider.name`` of the surface.
        model: As the body names it (or, on clouds that put it there, the address); None when neither does.
        body: Bytes as recorded; empty when they are not kept (`without_body`).
        settings: Compact JSON of every top-level key that renders nothing, by key.
        labels: What the runtime knows besides.
        flags: What the body holds that strict readers refuse or hide, sorted (`scanner.Flag`).
        content_bytes: Content bytes of all blocks.
        groups: Elements by top-level key, in render order.
    """

    __slots__ = (
        "_blocks",
        "_contents",
        "_markers",
        "body",
        "content_bytes",
        "fidelity",
        "flags",
        "groups",
        "labels",
        "model",
        "previous_response_id",
        "provider",
        "request_marker",
        "settings",
        "surface",
    )

    def __init__(
        self,
        *,
        surface: Surface,
        body: bytes,
        groups: tuple[PlacedGroup, ...],
        settings: Mapping[str, bytes],
        model: str | None,
        previous_response_id: str | None,
        request_marker: bytes | None,
        labels: Labels,
        fidelity: Fidelity,
        flags: tuple[str, ...],
    ) -> None:
        self.surface = surface
        self.provider = surface.provider
        self.body = body
        self.groups = groups
        self.settings = settings
        self.model = model
        self.previous_response_id = previous_response_id
        self.request_marker = request_marker
        self.labels = labels
        self.fidelity = fidelity
        self.flags = flags
        self._contents = tuple(one.content for group in groups for one in group.elements)
        self.content_bytes = sum(one.size for one in self._contents)
        self._blocks: tuple[Block, ...] | None = None
        self._markers: tuple[Marker, ...] | None = None

    @property
    def contents(self) -> tuple[Content, ...]:
        """What each element says, in render order; equal ones are identical objects."""
        return self._contents

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every block in render order."""
        if self._blocks is None:
            self._blocks = tuple(
                _block(placed, index, piece, self.labels)
                for placed in self.groups
                for index, element in enumerate(placed.elements)
                for piece in element.pieces
            )
        return self._blocks

    @property
    def markers(self) -> tuple[Marker, ...]:
        """Cache markers in render order; one for the whole request comes first."""
        if self._markers is None:
            self._markers = tuple(self._find_markers())
        return self._markers

    def _find_markers(self) -> list[Marker]:
        found = [Marker("$", None, self.request_marker)] if self.request_marker is not None else []
        base = 0
        for placed in self.groups:
            for index, element in enumerate(placed.elements):
                path = _path(placed, index)
                for marker in element.markers:
                    block = base + (marker.piece if marker.piece is not None else 0)
                    found.append(Marker(path + marker.suffix, block if block >= 0 else None, marker.value))
                base += len(element.pieces)
        return found

    def located(self, block: int) -> tuple[int, bytes, Piece]:
        """Of a block by its index: where its element starts in the body, the element's bytes, and the piece.

        Raises:
            IndexError: when there is no such block.
        """
        left = block
        for placed in self.groups:
            for start, element in zip(placed.starts, placed.elements, strict=True):
                if left < len(element.pieces):
                    return start, self.body[start : start + element.size], element.pieces[left]
                left -= len(element.pieces)
        raise IndexError(block)

    def without_body(self) -> PromptRequest:
        """The same without its raw bytes: what is left is shared with requests that say the same."""
        light = PromptRequest(
            surface=self.surface,
            body=b"",
            groups=self.groups,
            settings=self.settings,
            model=self.model,
            previous_response_id=self.previous_response_id,
            request_marker=self.request_marker,
            labels=self.labels,
            fidelity=self.fidelity,
            flags=self.flags,
        )
        light._blocks = self._blocks
        return light


def _path(placed: PlacedGroup, index: int) -> str:
    return f"$.{placed.group.key}[{index}]" if placed.listed else f"$.{placed.group.key}"


def _block(placed: PlacedGroup, index: int, piece: Piece, labels: Labels) -> Block:
    outer = _path(placed, index)
    path = outer + piece.suffix
    start = placed.starts[index]
    zone = Zone.SYSTEM if index < placed.leading else placed.group.zone
    if labels.zones:
        zone = labels.zones.get(path) or labels.zones.get(outer) or zone
    return Block(
        zone=zone,
        kind=piece.kind,
        path=path,
        label=f"{path[2:]} {piece.title}".rstrip(),
        role=piece.role,
        message=index if placed.group.numbered else None,
        name=piece.name,
        call_id=piece.call_id,
        span=(start + piece.span[0], start + piece.span[1]),
        facts=piece.facts,
    )


def read_request(
    body: bytes,
    *,
    surface: Surface | None = None,
    url: str = "",
    labels: Labels = NO_LABELS,
    fidelity: Fidelity = Fidelity.WIRE,
) -> PromptRequest:
    """Read a request body.

    Args:
        body: The bytes as sent or recorded.
        surface: The request format; recognised when None.
        url: Address it was sent to: helps to recognise the format, and names the model on some clouds.
        labels: What the runtime knows about its own request.
        fidelity: How much of the sent bytes `body` kept.

    Raises:
        UnreadableBodyError: when the body is no JSON object, or of no surface that we know.
    """
    top = slicing.members(body)
    path = urlsplit(url).path
    if surface is None:
        surface = recognise.surface_of([one.key for one in top.members], top, path.rstrip("/"))
        if surface is None:
            raise UnreadableBodyError("it is no request of Messages, Chat Completions or Responses")
    dialect = DIALECTS[surface]
    flags = set(top.flags)
    placed = []
    for group in dialect.groups:
        found = _place(body, top, group, surface)
        if found is not None:
            placed.append(found)
            for element in found.elements:
                flags |= element.flags
    settings, marker = _settings(top, frozenset(group.key for group in dialect.groups))
    return PromptRequest(
        surface=surface,
        body=body,
        groups=tuple(placed),
        settings=settings,
        model=top.text("model") or _model_in(path),
        previous_response_id=top.text("previous_response_id"),
        request_marker=marker,
        labels=labels,
        fidelity=fidelity,
        flags=tuple(sorted(flags)),
    )


def _place(body: bytes, top: slicing.Members, group: Group, surface: Surface) -> PlacedGroup | None:
    member = top.get(group.key)
    if member is None or body[member.value : member.end] == b"null":
        return None
    listed = body[member.value : member.value + 1] == b"["
    spans = slicing.items(body, member.value, member.end)[0] if listed else ((member.value, member.end),)
    table = _ELEMENTS[surface, group.key]
    elements = tuple(_element(body[start:end], table, group) for start, end in spans)
    leading = 0
    if group.leading and listed:
        while leading < len(elements) and elements[leading].role in group.leading:
            leading += 1
    return PlacedGroup(group, listed, elements, tuple(start for start, _ in spans), leading)


def _element(data: bytes, table: WeakTable[Element], group: Group) -> Element:
    digest = xxh3_128_digest(data)
    known = table.get(digest)
    return known if known is not None else table.put(digest, group.read(data))


def _settings(top: slicing.Members, rendered: frozenset[str]) -> tuple[dict[str, bytes], bytes | None]:
    settings: dict[str, bytes] = {}
    marker = None
    for one in top.members:
        if one.key in rendered or one.key == "previous_response_id":
            continue
        value, _ = slicing.compact(top.data[one.value : one.end])
        if one.key in MARKER_KEYS:
            marker = value if value != b"null" else None
        else:
            settings[one.key] = value
    return settings, marker


def _model_in(path: str) -> str | None:
    match = _MODEL_IN_PATH.search(unquote(path))
    return match[1] if match else None
