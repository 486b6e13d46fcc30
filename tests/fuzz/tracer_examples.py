"""A small valid input of every kind that tracers of frameworks write, for tests that damage them."""

from __future__ import annotations

from typing import Any

from coldturn.traces.kinds import InputKind
from fuzz.readers_examples import Example, dumped, lines

_LC = {"lc": 1, "type": "constructor"}


def _run(number: int) -> dict[str, Any]:
    said = [{**_LC, "id": ["HumanMessage"], "kwargs": {"content": "q", "type": "human"}}]
    usage = {"input_tokens": 20, "output_tokens": 3, "input_token_details": {"cache_read": 4}}
    return {
        "id": f"r{number}",
        "run_type": "llm",
        "start_time": f"2026-11-30T10:00:{number:02}Z",
        "inputs": {"messages": [said]},
        "outputs": {"generations": [[{"message": {**_LC, "kwargs": {"usage_metadata": usage}}}]]},
        "extra": {
            "invocation_params": {"model": "gpt-5.5", "tools": []},
            "metadata": {"ls_provider": "openai"},
        },
    }


_BEGUN: dict[str, Any] = {
    "event": "on_chat_model_start",
    "run_id": "r",
    "data": {"input": {"messages": [[{"type": "human", "content": "q"}]]}},
}
_ENDED: dict[str, Any] = {
    "event": "on_chat_model_end",
    "run_id": "r",
    "data": {"output": {"type": "ai", "usage_metadata": {"input_tokens": 20, "output_tokens": 3}}},
}

EXAMPLES: tuple[Example, ...] = (
    Example(InputKind.LANGSMITH, "lines", lines(_run(2), _run(1))),
    Example(InputKind.LANGSMITH, "answer", dumped({"runs": [_run(2), _run(1)]}, 1)),
    Example(
        InputKind.LANGSMITH, "one run", dumped({**_run(1), "run_type": "chain", "child_runs": [_run(2)]})
    ),
    Example(InputKind.LANGCHAIN, "", lines(_BEGUN, _ENDED)),
)
