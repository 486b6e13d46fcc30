"""Messages of pi in the formats of the providers that it calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from coldturn.reference.prefix.model import Surface
from coldturn.traces.formats.sessions import list_of, object_of
from coldturn.traces.formats.talk import compact
from coldturn.traces.slices import to_json

Message: TypeAlias = Mapping[str, Any]
_RESULT = "toolResult"


@dataclass(frozen=True, slots=True)
class Written:
    """One message in a provider's format.

    Attributes:
        role: pi's; neighbouring results of tools become one message where the provider wants that.
        parts: Content blocks for Anthropic, else whole messages or items; each as JSON.
    """

    role: str
    parts: tuple[bytes, ...]


def write(surface: Surface, message: Message) -> Written:
    """A message of the history in the format of a surface; without parts when nothing of it is sent."""
    parts = _WRITERS[surface](message)
    return Written(str(message["role"]), tuple(to_json(part) for part in parts))


def assembled(surface: Surface, history: Sequence[Written]) -> list[bytes]:
    """The messages, or the items, of a request."""
    if surface is not Surface.MESSAGES:
        return [part for one in history for part in one.parts]
    found: list[bytes] = []
    for is_result, group in groupby(history, key=lambda one: one.role == _RESULT):
        if is_result:
            found.append(_anthropic("user", [part for one in group for part in one.parts]))
        else:
            found += (_anthropic(_role(one.role), one.parts) for one in group if one.parts)
    return found


def reply(surface: Surface, message: Message, usage: Mapping[str, int]) -> bytes:
    """An assistant's message as the answer of a provider.

    Args:
        surface: The provider's format.
        message: In pi's form.
        usage: Tokens as pi counts them: `input` without those read from and written to the cache.
    """
    parts = list(_WRITERS[surface](message))
    named = {"id": message.get("responseId"), "model": message.get("model")}
    found: dict[str, Any] = {key: value for key, value in named.items() if isinstance(value, str)}
    match surface:
        case Surface.MESSAGES:
            found |= {"type": "message", "role": "assistant", "content": parts}
        case Surface.RESPONSES:
            found |= {"object": "response", "output": parts}
        case _:
            said = parts[0] if parts else {"role": "assistant", "content": ""}
            found |= {"choices": [{"index": 0, "message": said}]}
    return to_json({**found, "usage": _usage(surface, usage)})


def _usage(surface: Surface, usage: Mapping[str, int]) -> dict[str, Any]:
    """Token counts under the names that a provider gives them."""
    if surface is Surface.MESSAGES:
        return {
            "input_tokens": usage["input"],
            "cache_read_input_tokens": usage["cacheRead"],
            "cache_creation_input_tokens": usage["cacheWrite"],
            "output_tokens": usage["output"],
        }
    whole = usage["input"] + usage["cacheRead"] + usage["cacheWrite"]
    details = {"cached_tokens": usage["cacheRead"], "cache_write_tokens": usage["cacheWrite"]}
    if surface is Surface.RESPONSES:
        return {"input_tokens": whole, "output_tokens": usage["output"], "input_tokens_details": details}
    return {"prompt_tokens": whole, "completion_tokens": usage["output"], "prompt_tokens_details": details}


def _role(role: str) -> str:
    return "assistant" if role == "assistant" else "user"


def _anthropic(role: str, blocks: Sequence[bytes]) -> bytes:
    return object_of(("role", to_json(role)), ("content", list_of(blocks)))


def _blocks(message: Message) -> Iterator[Message]:
    """The content as blocks of pi: a plain text is one, and a command that the user ran is told as text."""
    content = message.get("content")
    if message["role"] == "bashExecution":
        content = f"{message.get('command', '')}\n{message.get('output', '')}"
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))


def _messages(message: Message) -> Iterator[dict[str, Any]]:
    if message["role"] == _RESULT:
        content = [_messages_block(block) for block in _blocks(message)]
        error = {"is_error": True} if message.get("isError") else {}
        yield {"type": "tool_result", "tool_use_id": message.get("toolCallId"), "content": content, **error}
        return
    yield from (_messages_block(block) for block in _blocks(message))


def _messages_block(block: Message) -> dict[str, Any]:
    match block.get("type"):
        case "text":
            return {"type": "text", "text": block.get("text")}
        case "thinking":
            signature = block.get("thinkingSignature")
            return {"type": "thinking", "thinking": block.get("thinking"), "signature": signature}
        case "toolCall":
            call = {"id": block.get("id"), "name": block.get("name"), "input": block.get("arguments")}
            return {"type": "tool_use", **call}
        case "image":
            source = {"type": "base64", "media_type": block.get("mimeType"), "data": block.get("data")}
            return {"type": "image", "source": source}
        case _:
            return dict(block)


def _responses(message: Message) -> Iterator[dict[str, Any]]:
    if message["role"] == _RESULT:
        output = "\n".join(_texts(message))
        call_id = str(message.get("toolCallId")).partition("|")[0]
        yield {"type": "function_call_output", "call_id": call_id, "output": output}
        return
    role = _role(message["role"])
    kind = "output_text" if role == "assistant" else "input_text"
    for block in _blocks(message):
        match block.get("type"):
            case "text":
                content = [{"type": kind, "text": block.get("text")}]
                yield {"type": "message", "role": role, "content": content}
            case "thinking":
                summary = [{"type": "summary_text", "text": block.get("thinking")}]
                yield {"type": "reasoning", "summary": summary}
            case "toolCall":
                call_id = str(block.get("id")).partition("|")[0]
                arguments = compact(block.get("arguments"))
                name = block.get("name")
                yield {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
            case "image":
                url = f"data:{block.get('mimeType')};base64,{block.get('data')}"
                content = [{"type": "input_image", "image_url": url}]
                yield {"type": "message", "role": role, "content": content}
            case _:
                yield {"type": "message", "role": role, "content": [dict(block)]}


def _chat(message: Message) -> Iterator[dict[str, Any]]:
    text = "\n".join(_texts(message))
    if message["role"] == _RESULT:
        yield {"role": "tool", "tool_call_id": message.get("toolCallId"), "content": text}
        return
    found: dict[str, Any] = {"role": _role(message["role"]), "content": text}
    calls = [_chat_call(block) for block in _blocks(message) if block.get("type") == "toolCall"]
    yield {**found, "tool_calls": calls} if calls else found


def _chat_call(block: Message) -> dict[str, Any]:
    arguments = compact(block.get("arguments"))
    function = {"name": block.get("name"), "arguments": arguments}
    return {"id": block.get("id"), "type": "function", "function": function}


def _texts(message: Message) -> Iterator[str]:
    """Texts of a message; of a picture its data, so that another one is seen."""
    for block in _blocks(message):
        if block.get("type") == "text":
            yield str(block.get("text", ""))
        elif block.get("type") == "image":
            yield str(block.get("data", ""))


_WRITERS: dict[Surface, Callable[[Message], Iterator[dict[str, Any]]]] = {
    Surface.MESSAGES: _messages,
    Surface.RESPONSES: _responses,
    Surface.CHAT_COMPLETIONS: _chat,
}
