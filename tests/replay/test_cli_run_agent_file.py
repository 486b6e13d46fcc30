"""Agent files, and the tools and secrets that they bring along."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from coldturn.replay.live.agent_file import AgentFileError, policy_of, read_agent_file
from coldturn.replay.sessions.session import Session

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "agent.toml"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "agent.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_example_is_an_agent() -> None:
    agent = read_agent_file(EXAMPLE)
    assert [one.id for one in agent.spec.connections] == ["files", "docs"]
    assert [one.name for one in agent.spec.local_tools] == ["todo_write", "remember"]
    assert policy_of(agent, EXAMPLE).name == "stable"


def test_its_spec_is_that_of_a_session_file() -> None:
    fields = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
    session = Session.model_validate({"cassette": "x.jsonl", "turns": [], "spec": fields["spec"]})
    assert session.spec == read_agent_file(EXAMPLE).spec


def test_the_page_names_every_field() -> None:
    page = (ROOT / "docs" / "run.md").read_text(encoding="utf-8")
    from coldturn.reference.spec import AgentSpec, ConnectionSpec
    from coldturn.replay.live.agent_file import AgentFile

    for model in (AgentFile, AgentSpec, ConnectionSpec):
        for field in model.model_fields:
            assert f"`{field}`" in page, f"docs/run.md does not explain {model.__name__}.{field}"


def test_a_policy_file_is_looked_for_beside_the_agent(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('clock = "system"', encoding="utf-8")
    path = write(tmp_path, 'policy = "mine.toml"\n[spec]\n')
    policy = policy_of(read_agent_file(path), path)
    assert (policy.name, policy.clock) == ("mine", "system")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "it is no TOML"),
        ("memory = 'x'", "it has no [spec]"),
        ("[spec]\nmodle = 'x'", "spec.modle: there is no such field"),
        ("[spec]\nsurface = 'telepathy'", "spec.surface: "),
        ("[[spec.connections]]\nid = 'a'", "spec.connections.0: it has neither of command and url"),
        (
            "[[spec.connections]]\nid = 'a'\ncommand = ['x']\nurl = 'http://h'",
            "spec.connections.0: it has both of command and url",
        ),
        (
            "[[spec.local_tools]]\nname = 'Bash'",
            "spec.local_tools.0.name: this program cannot run 'Bash'; it has todo_write and remember",
        ),
        (
            "[[spec.local_tools]]\nname = 'remember'\ninput_schema = {type = 'object'}",
            "spec.local_tools.0.input_schema: remember has a schema of its own",
        ),
        ("environment = {a = ['X']}\n[spec]", "environment.a: the spec has no connection of that id"),
        (
            "tokens = {a = 'X'}\n[[spec.connections]]\nid = 'a'\ncommand = ['x']",
            "tokens.a: the spec has no connection of that id with a url",
        ),
        ("[[spec.connections]]\nid = 'a b'", "spec.connections.0.id: "),
    ],
)
def test_what_is_wrong_is_named_with_its_path(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(AgentFileError) as raised:
        read_agent_file(path)
    assert said in str(raised.value)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError, match="no such file"):
        read_agent_file(tmp_path / "none.toml")
