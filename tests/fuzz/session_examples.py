"""A small valid session of every kind, and tables of usage numbers, for tests that damage them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import IO

from coldturn.traces.formats import (
    claude_code,
    cline,
    codex,
    gemini_cli,
    hash_trace,
    mini_swe_agent,
    opencode,
    pi,
    usage_table,
)
from coldturn.traces.formats.model import Record
from coldturn.traces.kinds import InputKind
from fuzz.readers_examples import Example

_USAGE = {
    "input_tokens": 3,
    "cache_read_input_tokens": 900,
    "cache_creation_input_tokens": 80,
    "output_tokens": 7,
}
_CLAUDE = {"sessionId": "s", "isSidechain": False, "timestamp": "2026-01-01T00:00:00Z"}


def _lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _asked(uuid: str, parent: str | None, content: object, **more: object) -> dict[str, object]:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": message, **_CLAUDE, **more}


def _said(uuid: str, parent: str, message: str, block: object) -> dict[str, object]:
    told = {
        "id": message,
        "role": "assistant",
        "model": "claude-opus-4-5",
        "content": [block],
        "usage": _USAGE,
    }
    line = {"type": "assistant", "uuid": uuid, "parentUuid": parent, "requestId": f"q{message}"}
    return {**line, "message": told, **_CLAUDE}


def _call(name: str) -> dict[str, object]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "ls"}}


def _result(name: str) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": name, "content": "src"}


_CLAUDE_CODE = _lines(
    {"type": "summary", "summary": "Files", "leafUuid": "a3"},
    _asked("u1", None, "Where is the file?"),
    _said("a1", "u1", "m1", _call("t1")),
    _said("a2", "a1", "m1", _call("t2")),
    _asked("r1", "a1", [_result("t1")]),
    _asked("r2", "a2", [_result("t2")]),
    _said("a3", "r2", "m2", {"type": "text", "text": "In src."}),
    {"type": "system", "subtype": "compact_boundary", "uuid": "c1", "parentUuid": None, **_CLAUDE},
    _asked("c2", "c1", "So far", isCompactSummary=True, isVisibleInTranscriptOnly=True),
    _said("a4", "c2", "m3", {"type": "text", "text": "On."}),
)


def _rollout(kind: str, **payload: object) -> dict[str, object]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def _counted(total: int, tokens: int) -> dict[str, object]:
    usage = {"input_tokens": tokens, "cached_input_tokens": 0, "output_tokens": 5}
    info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": usage}
    return _rollout("event_msg", type="token_count", info=info)


def _item(role: str, text: str) -> dict[str, object]:
    content = [{"type": "input_text" if role == "user" else "output_text", "text": text}]
    return _rollout("response_item", type="message", role=role, content=content)


_CODEX = _lines(
    _rollout("session_meta", id="r", cwd="/w", base_instructions={"text": "Be brief."}),
    _rollout("turn_context", model="gpt-5.5"),
    _item("user", "Where is the file?"),
    _rollout("response_item", type="function_call", name="shell", arguments="{}", call_id="c"),
    _counted(20, 20),
    _rollout("response_item", type="function_call_output", call_id="c", output="src"),
    _item("assistant", "In src."),
    _counted(60, 40),
    _rollout("compacted", message="So far", replacement_history=[]),
    _rollout("event_msg", type="thread_rolled_back", num_turns=1),
    _counted(90, 30),
)
_PI_USAGE = {"input": 3, "output": 7, "cacheRead": 900, "cacheWrite": 80}
_PI_CALL = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "p"}}


def _pi(message: object, number: int) -> dict[str, object]:
    return {"type": "message", "id": f"{number}", "parentId": f"{number - 1}", "message": message}


def _pi_said(content: object, api: str) -> dict[str, object]:
    told = {"role": "assistant", "content": content, "api": api, "model": "m", "usage": _PI_USAGE}
    return {**told, "stopReason": "stop", "timestamp": 1_767_225_600_000}


_PI = _lines(
    {"type": "session", "id": "s", "cwd": "/w", "modelId": "m", "provider": "anthropic"},
    _pi({"role": "user", "content": "Where?"}, 1),
    _pi(_pi_said([_PI_CALL], "anthropic-messages"), 2),
    _pi({"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "src"}]}, 3),
    _pi(_pi_said([{"type": "text", "text": "In src."}], "openai-responses"), 4),
    {"type": "compaction", "id": "5", "parentId": "4", "summary": "So far", "firstKeptEntryId": "3"},
    _pi(_pi_said([{"type": "text", "text": "On."}], "openai-completions"), 6),
)
_CHOICE = {"index": 0, "message": {"role": "assistant", "content": "In src."}}
_RESPONSE = {
    "created": 1_767_225_600,
    "model": "deepseek-chat",
    "choices": [_CHOICE],
    "usage": {"prompt_tokens": 20, "completion_tokens": 3, "prompt_cache_hit_tokens": 0},
}
_MINI = json.dumps(
    {
        "info": {},
        "messages": [
            {"role": "system", "content": "You have a shell."},
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": "In src.", "extra": {"response": _RESPONSE}},
            {"role": "exit", "content": "", "extra": {}},
        ],
        "trajectory_format": "mini-swe-agent-1.1",
    }
).encode()
_GEMINI_COUNTS = {"input": 900, "cached": 800, "output": 7, "thoughts": 0, "tool": 0, "total": 907}
_GEMINI_META = {"sessionId": "s", "projectHash": "ab", "startTime": "2026-01-01T00:00:00Z"}
_GEMINI_TOOL = {
    "id": "c1",
    "name": "ls",
    "args": {"dir": "."},
    "result": [{"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "src"}}}],
    "timestamp": "2026-01-01T00:00:02Z",
}


def _gemini(id_: str, kind: str, content: object, **more: object) -> dict[str, object]:
    return {"id": id_, "type": kind, "content": content, "timestamp": "2026-01-01T00:00:01Z", **more}


_GEMINI_TALK = (
    _gemini("u1", "user", [{"text": "Where?"}]),
    _gemini("g1", "gemini", "", model="gemini-3-pro", tokens=_GEMINI_COUNTS, toolCalls=[_GEMINI_TOOL]),
    _gemini("g2", "gemini", "In src.", model="gemini-3-pro", tokens=_GEMINI_COUNTS),
)
_GEMINI_LINES = _lines(
    _GEMINI_META,
    *_GEMINI_TALK,
    {"$set": {"messages": [_gemini("x1", "user", "A summary.")]}},
    _gemini("u2", "user", "And?"),
    _gemini("g3", "gemini", "That.", model="gemini-3-pro", tokens=_GEMINI_COUNTS),
    {"$rewindTo": "u2"},
)
_GEMINI_DOCUMENT = json.dumps({**_GEMINI_META, "messages": _GEMINI_TALK}, indent=1).encode()
_OPENCODE_TOKENS = {"input": 9, "output": 5, "reasoning": 0, "cache": {"read": 800, "write": 90}}


def _opencode(id_: str, role: str, *parts: object, **more: object) -> dict[str, object]:
    info = {"id": id_, "role": role, "time": {"created": 1_780_000_000_000}, **more}
    if role == "assistant":
        info |= {"modelID": "claude-sonnet-5", "providerID": "anthropic", "tokens": _OPENCODE_TOKENS}
    return {"info": info, "parts": parts}


_OPENCODE_TOOL = {
    "type": "tool",
    "callID": "c1",
    "tool": "list",
    "state": {
        "status": "completed",
        "input": {"path": "."},
        "output": "src",
        "time": {"start": 1_780_000_000_500, "end": 1_780_000_000_900, "compacted": 1_780_000_009_000},
    },
}
_OPENCODE = json.dumps(
    {
        "info": {"id": "ses_1", "directory": "/w", "projectID": "p"},
        "messages": [
            _opencode("u1", "user", {"type": "text", "text": "Where?"}),
            _opencode("a1", "assistant", {"type": "step-start"}, _OPENCODE_TOOL, {"type": "step-finish"}),
            _opencode("a2", "assistant", {"type": "text", "text": "In src."}),
            _opencode("k1", "user", {"type": "compaction", "auto": True}),
            _opencode(
                "s1",
                "assistant",
                {"type": "text", "text": "A summary."},
                summary=True,
                finish="stop",
                parentID="k1",
            ),
            _opencode("a3", "assistant", {"type": "text", "text": "On."}),
        ],
    }
).encode()
_TABLE = b"""path,call,model,prompt_tokens,cached_tokens,completion_tokens,t
run,0,gpt-5.5,900,0,9,0.5
run,1,gpt-5.5,990,0,9,4
"""
_TABLE_LINES = _lines(
    {
        "session": "s",
        "model": "deepseek-chat",
        "prompt_tokens": 900,
        "cached_tokens": 0,
        "completion_tokens": 9,
    },
    {
        "session": "s",
        "model": "deepseek-chat",
        "prompt_tokens": 990,
        "cached_tokens": 896,
        "completion_tokens": 9,
    },
)
HASHES = _lines(
    {"timestamp": 0, "input_length": 1500, "output_length": 9, "hash_ids": [1, 2, 3]},
    {"timestamp": 9, "input_length": 1030, "output_length": 9, "hash_ids": [1, 2, 4]},
)
"""A trace of block hashes: `read_records` names it and does not read it."""

_CLINE = json.dumps(
    {
        "version": 1,
        "updated_at": "2026-11-30T09:00:00Z",
        "agent": "lead",
        "sessionId": "s",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "look"}], "ts": 1_780_000_000_000},
            {"role": "assistant", "content": [_call("c")], "metrics": {"inputTokens": 9, "outputTokens": 1}},
            {"role": "user", "content": [_result("c")], "ts": 1_780_000_002_000},
            {"role": "assistant", "content": "done", "metrics": {"inputTokens": 19, "cacheReadTokens": 9}},
        ],
        "system_prompt": "You are Cline.",
    }
).encode()

EXAMPLES: tuple[Example, ...] = (
    Example(InputKind.CLAUDE_CODE, "", _CLAUDE_CODE),
    Example(InputKind.CODEX, "", _CODEX),
    Example(InputKind.PI, "", _PI),
    Example(InputKind.MINI_SWE_AGENT, "", _MINI),
    Example(InputKind.OPENCODE, "", _OPENCODE),
    Example(InputKind.GEMINI_CLI, "lines", _GEMINI_LINES),
    Example(InputKind.GEMINI_CLI, "document", _GEMINI_DOCUMENT),
    Example(InputKind.CLINE, "", _CLINE),
    Example(InputKind.USAGE_TABLE, "csv", _TABLE),
    Example(InputKind.USAGE_TABLE, "tsv", _TABLE.replace(b",", b"\t")),
    Example(InputKind.USAGE_TABLE, "lines", _TABLE_LINES),
)


def _hashes(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Only what cannot be read of a trace of block hashes, which holds no records."""
    for item in hash_trace.read_block_trace(stream, name=name):
        if not isinstance(item, hash_trace.BlockRequest):
            yield item


_READERS: dict[InputKind, Callable[[IO[bytes], str], Iterator[Record]]] = {
    InputKind.CLAUDE_CODE: claude_code.read,
    InputKind.CODEX: codex.read,
    InputKind.PI: pi.read,
    InputKind.MINI_SWE_AGENT: mini_swe_agent.read,
    InputKind.GEMINI_CLI: gemini_cli.read,
    InputKind.OPENCODE: opencode.read,
    InputKind.CLINE: cline.read,
    InputKind.USAGE_TABLE: usage_table.read,
}
SESSION_EXAMPLES = [
    *((one.kind, one.content, _READERS[one.kind]) for one in EXAMPLES),
    (InputKind.HASH_TRACE, HASHES, _hashes),
]
"""Format, bytes, and the reader by itself, without recognition in front of it."""
