"""LangSmith's runs, as exports, `list_runs` and the API give them: a list, lines, or one with its children.

A call to a model is a run of type ``llm``. Its prompt is LangChain's messages, or the arguments of a client
library that was wrapped; its tools stand in ``extra.invocation_params``. Source: schemas and wrappers of
langsmith 0.15 and the tracer of langchain-core 1.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any, TypeAlias

from coldturn.reference.prefix.request import recognise_surface
from coldturn.traces.classify import instant
from coldturn.traces.formats.langchain_messages import counts_of, langchain_messages, usage_in
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.observed import Observed, Records
from coldturn.traces.formats.talk import Message, messages_of
from coldturn.traces.formats.timed import Found, Log, listed, mapping, records_in_time, text
from coldturn.traces.kinds import InputKind
from coldturn.traces.slices import to_json
from coldturn.traces.usage_reply import Counts

Json: TypeAlias = Any

_UNDER = frozenset({"runs"})
_OWN = ("run_type", "inputs")
_OPENAI = ("openai", "azure")
"""Providers of which a wrapped library's arguments are what it sends; others' have the system text moved."""
_NOT_SENT = frozenset({"extra_headers", "extra_query", "extra_body", "timeout"})


def _recognise(head: Head) -> bool:
    if head.layout is Layout.TEXT:
        return False
    return head.any_has(*_OWN) or b'"run_type"' in head.member("runs")


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Each call in the order of the times; errors as for `records_in_time`."""
    records = Records(name)

    def tell(run: Mapping[str, Json], within: tuple[int, ...], number: int) -> Iterator[Record]:
        for place in within[:-1]:
            run = mapping(listed(run.get("child_runs"))[place])
        yield from records.of(_call(run, within[-1], number))

    yield from records_in_time(stream, name, Log("run", _UNDER, _calls, tell))


def _calls(run: Mapping[str, Json], way: tuple[int, ...] = ()) -> Iterator[Found]:
    """The calls of a run and of those below it: the way there, then which of its prompts."""
    if run.get("run_type") == "llm" and mapping(run.get("inputs")):
        started, parent = instant(run.get("start_time")), text(run.get("parent_run_id"))
        for place in range(len(_prompts(mapping(run["inputs"]))) or 1):
            id_ = text(run.get("id"))
            yield Found(started, (*way, place), f"{id_}#{place}" if place and id_ else id_, parent)
    for place, child in enumerate(listed(run.get("child_runs"))):
        yield from _calls(mapping(child), (*way, place))


def _prompts(inputs: Mapping[str, Json]) -> list[Json]:
    """What was sent; LangChain puts several prompts into one run."""
    messages = listed(inputs.get("messages"))
    if messages:
        return messages if all(isinstance(one, list) for one in messages) else [messages]
    if inputs.get("input"):
        return [inputs["input"]]
    return listed(inputs.get("prompts"))


def _call(run: Mapping[str, Json], place: int, number: int) -> Observed:
    inputs, extra = mapping(run.get("inputs")), mapping(run.get("extra"))
    about, asked = mapping(extra.get("metadata")), mapping(extra.get("invocation_params"))
    provider = text(about.get("ls_provider"))
    prompts = _prompts(inputs)
    return Observed(
        entry=number,
        model=text(asked.get("model")) or text(asked.get("model_name")) or text(inputs.get("model"))
        or text(about.get("ls_model_name")),
        provider=provider,
        messages=_messages(prompts[place]) if place < len(prompts) else None,
        tools=_tools(inputs, asked),
        body=_body(inputs) if provider in _OPENAI else None,
        usage=_usage(run, about) if len(prompts) < 2 else Counts(),
        started=instant(run.get("start_time")),
        answered=_first_token(run),
        conversation=text(run.get("trace_id")),
    )  # fmt: skip


def _body(inputs: Mapping[str, Json]) -> bytes | None:
    """The arguments of a wrapped library's call as the request."""
    if not isinstance(inputs.get("model"), str):
        return None
    sent = to_json({key: value for key, value in inputs.items() if key not in _NOT_SENT})
    return sent if recognise_surface(sent) is not None else None


def _messages(prompt: Json) -> tuple[Message, ...]:
    return messages_of(prompt) if isinstance(prompt, str) and prompt else langchain_messages(prompt)


def _tools(inputs: Mapping[str, Json], asked: Mapping[str, Json]) -> list[Json] | None:
    """Definitions beside the settings; nothing is known where no settings were kept."""
    for holder in (asked, inputs):
        if "tools" in holder:
            return listed(holder["tools"])
    return [] if asked or "model" in inputs else None


def _usage(run: Mapping[str, Json], about: Mapping[str, Json]) -> Counts:
    """As the answer reports it, else as the run does."""
    told = {
        "input_tokens": run.get("prompt_tokens") or None,
        "output_tokens": run.get("completion_tokens"),
        "input_token_details": run.get("prompt_token_details"),
    }
    for found in (usage_in(mapping(run.get("outputs"))), usage_in(about), counts_of(told)):
        if found.known:
            return found
    return Counts()


def _first_token(run: Mapping[str, Json]) -> float | None:
    """When the answer began, where it came as a stream."""
    told = instant(run.get("first_token_time"))
    if told is not None:
        return told
    events = (mapping(one) for one in listed(run.get("events")))
    return next((instant(one.get("time")) for one in events if one.get("name") == "new_token"), None)


FORMATS = (Format(InputKind.LANGSMITH, "LangSmith's runs", _recognise, read),)
