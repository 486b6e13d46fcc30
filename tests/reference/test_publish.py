"""A bad Spec is refused when it is published, with the path of every field that is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from coldturn.reference.policy import Policy
from coldturn.reference.publish import InvalidSpecError, Published, publish
from coldturn.reference.spec import AgentSpec, ConnectionSpec

GIT = {"id": "git"}
SKILL = {"name": "review", "description": "", "body": ""}


@pytest.mark.parametrize(
    ("spec", "policy", "paths"),
    [
        ({"connections": [GIT, GIT]}, {}, ["spec.connections.1.id"]),
        ({"skills": [SKILL, SKILL]}, {}, ["spec.skills.1.name"]),
        ({"subagents": [{"name": "a", "description": ""}] * 2}, {}, ["spec.subagents.1.name"]),
        ({"local_tools": [{"name": "bash"}] * 2}, {}, ["spec.local_tools.1.name"]),
        ({"local_tools": [{"name": "mcp_call_tool"}]}, {}, ["spec.local_tools.0.name"]),
        ({"local_tools": [{"name": "read_tool_output"}]}, {}, ["spec.local_tools.0.name"]),
        ({"connections": [{"id": "no spaces"}]}, {}, ["spec.connections.0.id"]),
        ({"connections": [GIT], "grants": {"gti": ["log"]}}, {}, ["spec.grants.gti"]),
        ({"grants": {"git": ["log"]}}, {}, ["spec.grants.git"]),
        ({"connections": [{"id": "git", "eager": ["log", ""]}]}, {}, ["spec.connections.0.eager.1"]),
        ({"connections": [GIT, {"id": "a", "eager": [" log"]}]}, {}, ["spec.connections.1.eager.0"]),
        ({"connections": [{"id": "git", "eager": ["a\nb"]}]}, {}, ["spec.connections.0.eager.0"]),
        ({"connections": [{"id": "git", "eager": ["x" * 129]}]}, {}, ["spec.connections.0.eager.0"]),
        ({"connections": [{"id": "git", "eager": ["log", "log"]}]}, {}, ["spec.connections.0.eager.1"]),
        ({"surface": "chat_completions"}, {"promotion": "native"}, ["policy.promotion"]),
        ({"surface": "generate_content"}, {}, ["spec.surface"]),
        ({"surface": "converse"}, {"promotion": "native"}, ["spec.surface"]),
        ({}, {"result_tokens": 13_000}, ["policy.batch_tokens"]),
        ({}, {"result_tokens": 10, "batch_tokens": 9}, ["policy.batch_tokens"]),
        ({"nonsense": 1}, {"nonsense": 1}, ["spec.nonsense", "policy.nonsense"]),
        ({"connections": [GIT, GIT]}, {"batch_tokens": 9}, ["spec.connections.1.id", "policy.batch_tokens"]),
    ],
)
@pytest.mark.requirement("BIG-2")
def test_every_problem_is_told_with_its_path(
    spec: dict[str, Any], policy: dict[str, Any], paths: list[str]
) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        publish(spec, policy)
    assert [problem.path for problem in caught.value.problems] == paths
    for path in paths:
        assert f"{path}: " in str(caught.value)
    assert "Value error" not in str(caught.value)


def test_what_is_sound_is_published_as_it_is() -> None:
    spec = AgentSpec(
        connections=(ConnectionSpec(id="git", eager=("log", "read.file", "ファイル")),),
        grants={"git": ("log",)},
    )
    assert publish(spec) == Published(spec, Policy())
    assert publish({"name": "a"}, {"name": "mine"}).policy.name == "mine"
    assert publish({}, {"promotion": "native"}).policy.promotion == "native"
