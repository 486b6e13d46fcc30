"""What a file of the registry says: the rules of one provider's cache, dated, with their source."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from coldturn.analysis.entries.store import TouchOrder
from coldturn.reference.prefix.model import Surface


class EntryModel(StrEnum):
    """Which of the four entry models applies."""

    LONGEST_PREFIX = "longest_prefix"
    WRITTEN_ENTRIES = "written_entries"
    WHOLE_UNITS = "whole_units"
    EXPLICIT_RESOURCE = "explicit_resource"


class Status(StrEnum):
    """How well a rule is known."""

    DOCUMENTED = "documented"
    MEASURED = "measured"
    INFERRED = "inferred"
    CONTESTED = "contested"


class Placement(StrEnum):
    """How a request's markers become boundaries that are written and looked up."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


_Count = Annotated[int, Field(ge=0)]
_Positive = Annotated[int, Field(ge=1)]
_Seconds = Annotated[float, Field(gt=0)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Texts = tuple[str, ...]


class Match(_Data):
    """Which requests a rule is for. Patterns are those of file names; an empty list admits everything.

    Attributes:
        hosts: Of the address a request was sent to. A request without an address is admitted where
            `no_host` says so: its format alone is then taken for the provider's own.
        own: Formats that only this provider has, so that a request in one is admitted without an address.
    """

    surfaces: tuple[Surface, ...] = ()
    hosts: _Texts = ()
    models: _Texts = ()
    no_host: bool = True
    own: tuple[Surface, ...] = ()

    def admits(self, surface: Surface | None, host: str, model: str) -> bool:
        """Whether a request of this kind falls under the rule."""
        if self.surfaces and surface not in self.surfaces:
            return False
        if host and self.hosts and not matches(host, self.hosts):
            return False
        if not host and not self.no_host and surface not in self.own:
            return False
        return not self.models or matches(model, self.models)


class Tiers(_Data):
    """Request settings that are part of the cache key, by the tier from which on they are lost.

    A name is a top-level key of the body (``tool_choice``) or a dotted path into one (``reasoning.effort``);
    ``@images`` stands for whether the request holds an image, ``@citations`` for whether one of its documents
    asks for citations.
    """

    tools: _Texts = ()
    system: _Texts = ()
    messages: _Texts = ()


class Parameters(_Data):
    """The knobs of all entry models; which ones count depends on the model.

    Attributes:
        minimum: Tokens below which nothing is cached; None when it is not known for this model.
        granularity: A read is rounded down to a multiple of it.
        interval: Breakpoints at its multiples, counted from the start of the hidden system message.
        hidden_tokens: Size of that message.
        recompute_last: The last token of a fully cached prompt is computed again.
        ttl: Seconds that an entry lives; None for ever, or where nobody says.
        ttls: Lifetimes by the name that a marker gives them.
        long_ttl: Lifetime from which on a write is billed as a long one.
        sliding: Whether a use starts the lifetime anew.
        capacity: Blocks or entries that fit; None without bound.
        touch: In which order blocks of a request go when the cache is full.
        placement: How markers become boundaries.
        max_breakpoints: More are refused.
        max_explicit_writes: Explicit breakpoints of a request that are written besides the implicit one; the
            latest ones.
        lookback: Boundaries that each breakpoint looks at, itself the first.
        first_probes: First explicit breakpoints that are looked at; `latest_probes` the latest ones;
            `earlier_probes` earlier endings of messages.
        fed_back: Whether an entry ends behind the answer too.
        common_prefixes: Whether a prefix that two requests share becomes a unit.
        strips_thinking: The server drops earlier thinking at a plain user message.
        slots: Sequences that an engine keeps; None where blocks are shared.
        similarity: Share of a prompt that a slot must have for it to be picked.
        reliability: Share of readable tokens that identical requests read in public measurements.
        envelope_order: The order of a body's top-level keys is part of the key.
        tiers: Settings in the key.
    """

    minimum: _Count | None = None
    granularity: _Positive = 1
    interval: _Positive | None = None
    hidden_tokens: _Count = 0
    recompute_last: bool = False
    ttl: _Seconds | None = None
    ttls: dict[str, _Seconds] = Field(default_factory=dict)
    long_ttl: _Seconds | None = None
    sliding: bool = True
    capacity: _Positive | None = None
    touch: TouchOrder = TouchOrder.FRONT_TO_BACK
    placement: Placement | None = None
    max_breakpoints: _Positive | None = None
    max_explicit_writes: _Count = 3
    lookback: _Positive = 20
    first_probes: _Count = 0
    latest_probes: _Count = 0
    earlier_probes: _Count = 0
    fed_back: bool = False
    common_prefixes: bool = True
    strips_thinking: bool = False
    slots: _Positive | None = None
    similarity: _Share = 0.1
    reliability: _Share = 1.0
    envelope_order: bool = False
    tiers: Tiers = Tiers()


class ModelParameters(_Data):
    """Parameters of some models that differ from the rest of the rule.

    Attributes:
        set: Parameters by name.
    """

    models: Annotated[_Texts, Field(min_length=1)]
    set: dict[str, Any]
    note: str = ""


class Contested(_Data):
    """A point on which sources disagree.

    Attributes:
        parameter: Its name.
        values: What the sources say; the parameter itself holds the one that is used.
    """

    parameter: str
    values: tuple[Any, ...] = ()
    note: str


class Price(_Data):
    """What some models cost, per million tokens where it is an amount, else as a multiple of the input price.

    Attributes:
        since: First day on which it holds, as far as the source says; else the rule's own `as_of` dates it.
        input, output: Amounts in `currency`; None where only the multiples are known.
        read, write, write_long: Multiples of the input price.
        storage: Amount per million tokens and hour.
    """

    models: Annotated[_Texts, Field(min_length=1)]
    since: date | None = None
    currency: Literal["USD"] = "USD"
    input: Annotated[float, Field(ge=0)] | None = None
    output: Annotated[float, Field(ge=0)] | None = None
    read: Annotated[float, Field(ge=0)] = 1.0
    write: Annotated[float, Field(ge=0)] = 1.0
    write_long: Annotated[float, Field(ge=0)] | None = None
    storage: Annotated[float, Field(ge=0)] | None = None
    source: str = ""


class RuleSet(_Data):
    """The rules of one cache: one TOML file of the registry.

    Attributes:
        name: How commands call it.
        provider: ``gen_ai.provider.name``.
        surface: What it is a rule of, in words.
        as_of: Day on which the sources were read.
        model: Entry model.
        match: Requests it is chosen for; None when it is used only where a user names it.
        models: Parameters of some models; the first that matches counts.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    provider: str
    surface: str
    as_of: date
    source: Annotated[str, Field(min_length=1)]
    status: Status
    model: EntryModel
    summary: str = ""
    match: Match | None = None
    parameters: Parameters = Parameters()
    models: tuple[ModelParameters, ...] = ()
    contested: tuple[Contested, ...] = ()
    prices: tuple[Price, ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        known = Parameters.model_fields
        for point in self.contested:
            if point.parameter not in known:
                raise ValueError(f"contested point {point.parameter!r} is no parameter")
        for own in self.models:
            Parameters.model_validate({**self.parameters.model_dump(), **own.set})
        if self.model is EntryModel.WRITTEN_ENTRIES and self.parameters.placement is None:
            raise ValueError("written_entries needs the parameter placement")
        return self

    def parameters_for(self, model: str) -> Parameters:
        """Parameters as they hold for one model."""
        own = next((one for one in self.models if matches(model, one.models)), None)
        if own is None:
            return self.parameters
        return Parameters.model_validate({**self.parameters.model_dump(), **own.set})


def matches(text: str, patterns: tuple[str, ...]) -> bool:
    """Whether a name fits one of these patterns, upper and lower case alike."""
    lowered = text.lower()
    return any(fnmatchcase(lowered, pattern.lower()) for pattern in patterns)
