"""The kinds of input that are read, by the names that ``--format`` takes."""

from __future__ import annotations

from enum import StrEnum


class InputKind(StrEnum):
    """A kind of input; `coldturn.traces.formats.table` holds how each is recognised and read."""

    BODY = "body"
    BODIES = "bodies"
    JSONL = "jsonl"
    RECORDING = "recording"
    CASSETTE_YAML = "cassette-yaml"
    CASSETTE_JSON = "cassette-json"
    HAR = "har"
    TRACE = "trace"
    OTLP = "otlp"
    SPANS = "spans"
    LANGFUSE = "langfuse"
    LITELLM = "litellm"
    HELICONE = "helicone"
    INSPECT = "inspect"
    MLFLOW = "mlflow"
    OPENAI_AGENTS = "openai-agents"
    PYDANTIC_AI = "pydantic-ai"
    LANGSMITH = "langsmith"
    LANGCHAIN = "langchain"
    BEDROCK_LOG = "bedrock-log"
    SDK_LOG = "sdk-log"
    PROMPT_LOG = "prompt-log"
    QWEN_CODE = "qwen-code"
    CLAUDE_CODE = "claude-code"
    CLAUDE_STREAM = "claude-stream"
    CODEX = "codex"
    PI = "pi"
    CLINE = "cline"
    MINI_SWE_AGENT = "mini-swe-agent"
    GEMINI_CLI = "gemini-cli"
    OPENCODE = "opencode"
    USAGE_TABLE = "usage-table"
    HASH_TRACE = "hash-trace"


CASSETTES = frozenset({InputKind.CASSETTE_YAML, InputKind.CASSETTE_JSON, InputKind.RECORDING})
"""Kinds that hold whole HTTP interactions, MCP traffic among them."""
