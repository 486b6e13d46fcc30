"""One call as the spans of many libraries tell of it, and the request that it was."""

from __future__ import annotations

import json
from typing import Any

FUNCTION: dict[str, Any] = {"name": "find", "description": "d", "parameters": {"type": "object"}}
TOOL = {"type": "function", "function": FUNCTION}
ASKED = {"role": "user", "content": "Where is the file?"}
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q":"x"}'}}],
}
ANSWERED = {"role": "tool", "tool_call_id": "c1", "content": "src/a.py"}
SYSTEM = {"role": "system", "content": "Be brief."}
BODY = {"model": "gpt-5.5", "tools": [TOOL], "messages": [SYSTEM, ASKED, CALLED, ANSWERED]}
NAMED = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5.5"}
ARGUMENTS = {"q": "x"}
PARTS = [
    {"role": "user", "parts": [{"type": "text", "content": "Where is the file?"}]},
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "find", "arguments": {"q": "x"}}],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "src/a.py"}]},
]
CONVENTIONAL = {
    **NAMED,
    "gen_ai.system_instructions": [{"type": "text", "content": "Be brief."}],
    "gen_ai.input.messages": PARTS,
    "gen_ai.tool.definitions": [{"type": "function", **FUNCTION}],
}
OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "gpt-5.5",
    "llm.tools.0.tool.json_schema": json.dumps(TOOL),
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.content": "Be brief.",
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.contents.0.message_content.type": "text",
    "llm.input_messages.1.message.contents.0.message_content.text": "Where is the file?",
    "llm.input_messages.2.message.role": "assistant",
    "llm.input_messages.2.message.tool_calls.0.tool_call.id": "c1",
    "llm.input_messages.2.message.tool_calls.0.tool_call.function.name": "find",
    "llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments": '{"q":"x"}',
    "llm.input_messages.3.message.role": "tool",
    "llm.input_messages.3.message.tool_call_id": "c1",
    "llm.input_messages.3.message.content": "src/a.py",
}
OPENLLMETRY = {
    "llm.request.type": "chat",
    "gen_ai.request.model": "gpt-5.5",
    "llm.request.functions.0.name": "find",
    "llm.request.functions.0.description": "d",
    "llm.request.functions.0.parameters": '{"type": "object"}',
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "Be brief.",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": "Where is the file?",
    "gen_ai.prompt.2.role": "assistant",
    "gen_ai.prompt.2.tool_calls.0.id": "c1",
    "gen_ai.prompt.2.tool_calls.0.name": "find",
    "gen_ai.prompt.2.tool_calls.0.arguments": '{"q":"x"}',
    "gen_ai.prompt.3.role": "tool",
    "gen_ai.prompt.3.tool_call_id": "c1",
    "gen_ai.prompt.3.content": "src/a.py",
}
VERCEL_ID = {"toolCallId": "c1", "toolName": "find"}
AI_SDK = {
    "ai.operationId": "ai.streamText.doStream",
    "ai.model.id": "gpt-5.5",
    "ai.prompt.tools": [
        json.dumps(
            {"type": "function", "name": "find", "description": "d", "inputSchema": {"type": "object"}}
        )
    ],
    "ai.prompt.messages": json.dumps(
        [
            SYSTEM,
            {"role": "user", "content": [{"type": "text", "text": "Where is the file?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool-call", "toolCallId": "c1", "toolName": "find", "input": {"q": "x"}}
                ],
            },
            {
                "role": "tool",
                "content": [
                    {"type": "tool-result", "toolCallId": "c1", "toolName": "find", "output": "src/a.py"}
                ],
            },
        ]
    ),
}
LOGFIRE_EVENTS = {
    **NAMED,
    "model_request_parameters": json.dumps(
        {
            "function_tools": [
                {"name": "find", "description": "d", "parameters_json_schema": {"type": "object"}}
            ]
        }
    ),
    "events": json.dumps(
        [
            {"event.name": "gen_ai.system.message", **SYSTEM},
            {"event.name": "gen_ai.user.message", **ASKED},
            {
                "event.name": "gen_ai.assistant.message",
                "role": "assistant",
                "tool_calls": CALLED["tool_calls"],
            },
            {"event.name": "gen_ai.tool.message", "role": "tool", "id": "c1", "content": "src/a.py"},
            {"event.name": "gen_ai.choice", "message": {"role": "assistant", "content": "In src."}},
        ]
    ),
}


def as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


LIBRARIES: dict[str, dict[str, Any]] = {
    "conventions": CONVENTIONAL,
    "conventions as JSON texts": {key: as_text(value) for key, value in CONVENTIONAL.items()},
    "OpenInference": OPENINFERENCE,
    "OpenLLMetry": OPENLLMETRY,
    "Vercel's AI SDK": AI_SDK,
    "pydantic-ai's events": LOGFIRE_EVENTS,
}
