"""The table of formats. Order matters: the first that recognises an input has it."""

from __future__ import annotations

from coldturn.traces.formats import (
    bedrock_log,
    cassettes,
    claude_code,
    claude_stream,
    cline,
    codex,
    gemini_cli,
    har,
    hash_trace,
    helicone,
    inspect_log,
    langchain_events,
    langfuse,
    langsmith,
    litellm,
    mini_swe_agent,
    mlflow,
    openai_agents,
    opencode,
    otlp,
    pi,
    prompt_log,
    pydantic_ai,
    qwen_code,
    requests,
    sdk_log,
    usage_table,
)
from coldturn.traces.formats.model import Format, Head
from coldturn.traces.kinds import InputKind

FORMATS: tuple[Format, ...] = (
    *inspect_log.FORMATS,
    *cassettes.FORMATS,
    *har.FORMATS,
    *langfuse.FORMATS,
    *litellm.FORMATS,
    *helicone.FORMATS,
    *mlflow.FORMATS,
    *openai_agents.FORMATS,
    *pydantic_ai.FORMATS,
    *langsmith.FORMATS,
    *langchain_events.FORMATS,
    *otlp.FORMATS,
    *bedrock_log.FORMATS,
    *sdk_log.FORMATS,
    *prompt_log.FORMATS,
    *qwen_code.FORMATS,
    *claude_code.FORMATS,
    *claude_stream.FORMATS,
    *codex.FORMATS,
    *gemini_cli.FORMATS,
    *opencode.FORMATS,
    *cline.FORMATS,
    *pi.FORMATS,
    *mini_swe_agent.FORMATS,
    *hash_trace.FORMATS,
    *usage_table.FORMATS,
    *requests.FORMATS,
)

_BY_KIND = {one.kind: one for one in FORMATS}


def format_of(kind: InputKind) -> Format:
    """The format of a kind."""
    return _BY_KIND[kind]


def recognised(head: Head) -> Format | None:
    """The format that an input with this beginning is of."""
    return next((one for one in FORMATS if one.recognise(head)), None)
