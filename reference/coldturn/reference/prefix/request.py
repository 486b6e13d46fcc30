"""A request body as a prompt: blocks in the provider's render order, cache markers aside.

Reading costs what is new (see `reading`), and blocks with their paths are built when somebody asks for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, count
from operator import attrgetter
from urllib.parse import unquote, urlsplit

from coldturn.reference.prefix import slicing
from coldturn.reference.prefix.blocks import Blocks
from coldturn.reference.prefix.elements import Content, Element, Piece
from coldturn.reference.prefix.model import NO_LABELS, Block, Fidelity, Labels, Marker, Surface, Zone
from coldturn.reference.prefix.reading import PlacedGroup, Reading, Totals
from coldturn.reference.prefix.recognise import recognise_surface
from coldturn.reference.prefix.splice import read_again
from coldturn.reference.prefix.unloaded import only_appends, set_aside

__all__ = ["PromptRequest", "model_in", "read_request", "recognise_surface", "settings_in"]

_markers_of = attrgetter("markers")
_MODEL_IN_PATH = re.compile(r"/(?:models?|tunedModels|endpoints)/([^/:]+(?::\d+)?)")
_BEDROCK_MODEL = re.compile(r"/model/([^/]+)/(?:converse|invoke)[a-z-]*$")


class PromptRequest:
    """What one model request says, as far as its bytes tell.

    Attributes:
        body: Bytes as recorded; empty when they are not kept (`without_body`).
        surface: The request format.
        provider: ``gen_ai.provider.name`` of the surface.
        model: As the body names it (or, on clouds that put it there, the address); None when neither does.
        settings: Compact JSON of every top-level key that renders nothing, by key.
        previous_response_id: The response whose context this request goes on from.
        labels: What the runtime knows besides.
        content_bytes: Content bytes of all blocks.
        groups: Elements by top-level key, in render order.
        contents: What each element says, in render order; equal ones are identical objects.
        totals: Blocks and content bytes in front of each element of `contents`, and in all at the end.
        unloaded: Tools that the body defines and the prompt does not hold (`unloaded`); no block stands for
            them.
    """

    __slots__ = (
        "_blocks",
        "_markers",
        "_reading",
        "body",
        "content_bytes",
        "contents",
        "fidelity",
        "groups",
        "labels",
        "model",
        "previous_response_id",
        "provider",
        "settings",
        "surface",
        "totals",
        "unloaded",
    )

    def __init__(
        self,
        reading: Reading,
        *,
        body: bytes,
        model: str | None,
        labels: Labels,
        fidelity: Fidelity,
        whole: bool = False,
    ) -> None:
        envelope = reading.envelope
        self._reading = reading
        self.body = body
        self.surface: Surface = envelope.surface
        self.provider: str = envelope.surface.provider
        self.model = model
        self.settings: Mapping[str, bytes] = envelope.settings
        self.previous_response_id = envelope.previous_response_id
        self.labels = labels
        self.fidelity = fidelity
        self.content_bytes: int = reading.content_bytes
        self.groups: tuple[PlacedGroup, ...] = reading.groups
        self.contents: tuple[Content, ...] = reading.contents
        self.totals: Totals = reading.totals
        self.unloaded: tuple[Element, ...] = ()
        if not whole:
            self.groups, self.unloaded = set_aside(reading.groups)
        if self.unloaded:
            self.contents = tuple(element.content for one in self.groups for element in one.elements)
            self.totals = Totals.of(self.contents)
            self.content_bytes = self.totals.bytes[-1]
        self._blocks: Blocks | None = None
        self._markers: tuple[Marker, ...] | None = None

    @property
    def by_reference(self) -> bool:
        """Whether earlier messages stay with the provider: this request sends only what is new."""
        return self.previous_response_id is not None or self.conversation is not None

    @property
    def conversation(self) -> str | None:
        """Id of the conversation object that holds the earlier messages of a Responses request."""
        return self._named("conversation", Surface.RESPONSES)

    @property
    def cached_content(self) -> str | None:
        """Name of the explicit cache of Gemini's whose content stands in front of what the body holds."""
        return self._named("cachedContent", Surface.GENERATE_CONTENT) or self._named(
            "cached_content", Surface.GENERATE_CONTENT
        )

    @property
    def lacks_its_beginning(self) -> bool:
        """Whether the prompt begins with what the body does not hold and names only."""
        return self.by_reference or self.cached_content is not None

    def _named(self, key: str, surface: Surface) -> str | None:
        """An id that a setting gives as text, or as an object that holds it."""
        sent = self.settings.get(key) if self.surface is surface else None
        if sent is None:
            return None
        if sent[:1] == b"{":
            return slicing.members(sent).text("id")
        return (slicing.decode_text(sent)[0].decode("utf-8", "replace") or None) if sent[:1] == b'"' else None

    @property
    def blocks(self) -> Sequence[Block]:
        """Every block in render order, each made when somebody looks at it."""
        lazy = self.lazy_blocks
        return lazy if lazy.every is None else lazy.every

    @property
    def lazy_blocks(self) -> Blocks:
        """The same, and where they stand."""
        if self._blocks is None:
            self._blocks = Blocks(self.groups, self.labels, self.totals.blocks)
        return self._blocks

    @property
    def markers(self) -> tuple[Marker, ...]:
        """Cache markers in render order; one for the whole request comes first."""
        if self._markers is None:
            self._markers = tuple(self._find_markers())
        return self._markers

    @property
    def flags(self) -> tuple[str, ...]:
        """What the body holds that strict readers refuse or hide, sorted (`strings.Flag`)."""
        return tuple(sorted(map(str, self._reading.flags)))

    def _find_markers(self) -> Iterator[Marker]:
        marker = self._reading.envelope.marker
        if marker is not None:
            yield Marker("$", None, marker)
        base = 0
        for placed in self.groups:
            # Most elements have none, and there may be thousands.
            for index in compress(count(), map(_markers_of, placed.elements)):
                first = self.lazy_blocks.start(base + index)
                for found in placed.elements[index].markers:
                    block = first + found.piece
                    path = placed.path(index) + found.suffix
                    yield Marker(path, block if block >= 0 else None, found.value)
            base += len(placed.elements)

    def located(self, block: int) -> tuple[int, bytes, Piece]:
        """Of a block by its index: where its element starts in the body, the element's bytes, and the piece.

        Raises:
            IndexError: when there is no such block.
        """
        placed, index, piece = self.lazy_blocks.find(block)
        start, element = placed.start(index), placed.elements[index]
        return start, self.body[start : start + element.size], element.pieces[piece]

    def goes_on_from(self, parent: PromptRequest) -> bool:
        """Whether tools that are not loaded were at most added to since `parent`."""
        return only_appends(parent.unloaded, self.unloaded, _tools(parent), _tools(self))

    def whole(self) -> PromptRequest:
        """The same with every tool of the array as a block, loaded or not."""
        if not self.unloaded:
            return self
        return PromptRequest(
            self._reading,
            body=self.body,
            model=self.model,
            labels=self.labels,
            fidelity=self.fidelity,
            whole=True,
        )

    def without_body(self) -> PromptRequest:
        """The same without its raw bytes: what is left is shared with requests that say the same."""
        light = PromptRequest(
            self._reading, body=b"", model=self.model, labels=self.labels, fidelity=self.fidelity
        )
        light._blocks = self._blocks
        return light


def _tools(request: PromptRequest) -> tuple[Element, ...]:
    return tuple(
        element for one in request.groups if one.group.zone is Zone.TOOLS for element in one.elements
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
    path = urlsplit(url).path.rstrip("/") if url else ""
    reading = read_again(body, surface, path)
    model = reading.envelope.model or (model_in(url) if path else None)
    return PromptRequest(reading, body=body, model=model, labels=labels, fidelity=fidelity)


def settings_in(body: bytes) -> Mapping[str, bytes]:
    """Every top-level key of a body that renders nothing, as compact JSON; `read_request` next costs nothing.

    Raises:
        UnreadableBodyError: as `read_request` does.
    """
    return read_again(body, None, "").envelope.settings


def model_in(url: str) -> str | None:
    """The model that an address names, as those of Bedrock, Gemini and Vertex do; else None."""
    path = urlsplit(url).path.rstrip("/")
    bedrock = _BEDROCK_MODEL.search(path)
    if bedrock is not None:
        return unquote(bedrock[1])
    match = _MODEL_IN_PATH.search(unquote(path))
    return match[1] if match else None
