"""Settings of a request that may touch its cache and that no text shows: model, tool choice, thinking, ..."""

from __future__ import annotations

from dataclasses import dataclass

from coldturn.reference.prefix.request import PromptRequest

_OF_THE_ANSWER = frozenset(
    {
        "background",
        "include",
        "logprobs",
        "max_completion_tokens",
        "max_output_tokens",
        "max_tokens",
        "metadata",
        "n",
        "safety_identifier",
        "seed",
        "stop",
        "stop_sequences",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "top_k",
        "top_logprobs",
        "top_p",
        "user",
    }
)
"""How an answer is drawn, sent and kept: nothing of it is read with the prompt."""


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """Settings in which a request differs from its parent; what that does to a cache is not judged.

    Attributes:
        request: Ordinal among the model requests of its source, from 0; `parent` likewise.
        keys: Top-level keys of the request, sorted.
    """

    request: int
    parent: int
    keys: tuple[str, ...]


def changed_settings(parent: PromptRequest, child: PromptRequest) -> tuple[str, ...]:
    """Keys of settings that differ, those of the answer alone left out; sorted."""
    if parent.settings is child.settings and parent.model == child.model:
        return ()
    keys = {
        key
        for key in parent.settings.keys() | child.settings.keys()
        if key not in _OF_THE_ANSWER and parent.settings.get(key) != child.settings.get(key)
    }
    if parent.model != child.model:
        keys.add("model")
    return tuple(sorted(keys))
