"""The recording that ships with the package holds what a demo needs, and nothing that must not be shipped."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from importlib import resources
from typing import Any

import orjson
import pytest

from coldturn.replay.sessions.session import Decision, Session

RESULT_TOKENS = 4_000
BATCH_TOKENS = 12_000


@dataclass(frozen=True, slots=True)
class Entry:
    server: str
    verb: str
    method: str
    params: dict[str, Any]
    messages: tuple[dict[str, Any], ...]
    start: float
    end: float

    @property
    def result(self) -> dict[str, Any]:
        answer = self.messages[-1]
        return answer.get("result") or {"isError": True, "content": []}

    @property
    def text(self) -> str:
        return "".join(block.get("text", "") for block in self.result["content"])

    @property
    def key(self) -> tuple[str, str, bytes]:
        arguments = orjson.dumps(self.params.get("arguments") or {}, option=orjson.OPT_SORT_KEYS)
        return self.server, self.params["name"], arguments


def shipped(name: str) -> bytes:
    return resources.files("coldturn.replay").joinpath("recordings", name).read_bytes()


def entry_of(line: bytes) -> Entry:
    value = orjson.loads(line)
    request, response = value["request"], value["response"]
    body = orjson.loads(request["body"]) if request["body"] else {}
    events = (response["body"]["string"] or "").split("\n")
    return Entry(
        server=request["uri"].split(".")[1],
        verb=request["method"],
        method=body.get("method", ""),
        params=body.get("params") or {},
        messages=tuple(orjson.loads(event[6:]) for event in events if event.startswith("data: ")),
        start=response["x-coldturn"]["start"],
        end=response["x-coldturn"]["end"],
    )


@pytest.fixture(scope="module")
def session() -> Session:
    return Session.model_validate(tomllib.loads(shipped("demo.session.toml").decode()))


@pytest.fixture(scope="module")
def entries(session: Session) -> tuple[Entry, ...]:
    _header, *lines = shipped(session.cassette).splitlines()
    return tuple(entry_of(line) for line in lines)


@pytest.fixture(scope="module")
def calls(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    return tuple(entry for entry in entries if entry.method == "tools/call")


def decisions(session: Session) -> list[Decision]:
    return [call for turn in session.turns for step in turn.steps for call in step.calls]


def tools_listed(entries: tuple[Entry, ...], server: str) -> list[dict[str, dict[str, Any]]]:
    """The catalogues of one server, in the order in which they were listed."""
    lists = [e for e in entries if e.server == server and e.method == "tools/list"]
    return [{tool["name"]: tool for tool in e.result["tools"]} for e in lists]


def estimated(text: str) -> int:
    return -(-len(text.encode()) // 4)


def test_it_is_a_piece_of_work_of_some_length(session: Session, calls: tuple[Entry, ...]) -> None:
    assert len(session.turns) >= 12
    assert len(decisions(session)) >= 40
    assert len(calls) >= 40
    assert all(turn.user.strip() and turn.answer.strip() for turn in session.turns)


def test_it_is_small_enough_to_ship(session: Session) -> None:
    assert len(shipped(session.cassette)) < 2_000_000


def test_every_decision_was_recorded_exactly_once(session: Session, calls: tuple[Entry, ...]) -> None:
    scripted = Counter(
        (d.server, d.tool, orjson.dumps(dict(d.arguments), option=orjson.OPT_SORT_KEYS))
        for d in decisions(session)
        if d.server is not None
    )
    assert scripted == Counter(entry.key for entry in calls)


def test_local_tools_are_those_of_the_spec(session: Session) -> None:
    local = {d.tool for d in decisions(session) if d.server is None}
    assert {"todo_write", "remember"} <= local
    assert local <= {tool.name for tool in session.spec.local_tools} | {"read_tool_output", "read_skill"}


def test_the_big_catalogue_is_azures_and_stands_in_it_once(entries: tuple[Entry, ...]) -> None:
    (azure,) = tools_listed(entries, "azure")
    assert len(azure) == 235
    assert len(orjson.dumps(list(azure.values()))) > 400_000


def test_deferred_tools_are_discovered_at_several_turns(session: Session) -> None:
    first_use: dict[str, int] = {}
    for number, turn in enumerate(session.turns):
        for step in turn.steps:
            for call in step.calls:
                if call.server == "azure":
                    first_use.setdefault(call.tool, number)
    assert len(first_use) >= 5
    assert len(set(first_use.values())) >= 3
    (azure,) = (spec for spec in session.spec.connections if spec.id == "azure")
    assert azure.preload is None


def test_memory_and_todo_list_change(session: Session) -> None:
    memories = [d.memory for d in decisions(session) if d.memory is not None]
    lists = [d.reminder["todo"] for d in decisions(session) if "todo" in d.reminder]
    assert session.memory
    assert len({session.memory, *memories}) >= 3
    assert len(set(lists)) >= 4
    assert lists[-1] == "", "the list goes away at the end"


def test_some_results_are_large_and_one_turn_holds_many_middling_ones(
    session: Session, calls: tuple[Entry, ...]
) -> None:
    sizes = {entry.key: estimated(entry.text) for entry in calls}
    assert sum(size >= RESULT_TOKENS for size in sizes.values()) >= 4
    batches = []
    for turn in session.turns[:-1]:
        batch = [
            sizes[call.server, call.tool, orjson.dumps(dict(call.arguments), option=orjson.OPT_SORT_KEYS)]
            for step in turn.steps
            for call in step.calls
            if call.server is not None
        ]
        batches.append(batch)
    assert any(max(batch) < RESULT_TOKENS and sum(batch) > BATCH_TOKENS for batch in batches if batch)


def test_tools_fail_in_more_than_one_way(calls: tuple[Entry, ...]) -> None:
    failed = [entry for entry in calls if entry.result.get("isError")]
    assert len({entry.server for entry in failed}) >= 3
    assert any(len(entry.text) > 400 for entry in failed), "one is long enough to be cut"


def test_a_server_connects_in_mid_conversation(session: Session, entries: tuple[Entry, ...]) -> None:
    assert session.late == ("wiki",)
    connecting = [number for number, turn in enumerate(session.turns) if "wiki" in turn.connect]
    assert len(connecting) == 1
    assert 0 < connecting[0] < len(session.turns) - 1
    first_call = min(entry.start for entry in entries if entry.method == "tools/call")
    assert min(entry.start for entry in entries if entry.server == "wiki") > first_call


def test_tools_are_added_edited_and_removed_and_subscribers_are_told(entries: tuple[Entry, ...]) -> None:
    first, removed, added, edited = tools_listed(entries, "tracker")
    assert set(first) - set(removed) == {"import_legacy_issue"}
    assert set(added) - set(removed) == {"assign_to_milestone", "milestone_status"}
    assert set(edited) == set(added)
    assert [name for name in edited if edited[name] != added[name]] == ["create_issue"]
    (listening,) = (entry for entry in entries if entry.method == "subscriptions/listen")
    told = [m for m in listening.messages if m.get("method") == "notifications/tools/list_changed"]
    assert len(told) == 3


def test_both_eras_of_the_protocol_are_in_it(entries: tuple[Entry, ...]) -> None:
    handshaken = {entry.server for entry in entries if entry.method == "initialize"}
    assert handshaken == {"azure", "fs", "wiki"}
    assert {entry.server for entry in entries} - handshaken == {"git", "tracker"}


def test_calls_of_a_step_run_side_by_side(session: Session) -> None:
    assert sum(len(step.calls) > 1 for turn in session.turns for step in turn.steps) >= 5


def test_times_are_those_of_the_script(session: Session, entries: tuple[Entry, ...]) -> None:
    calls = sorted(entry.start for entry in entries if entry.method == "tools/call")
    scripted = sum(turn.after + sum(step.after for step in turn.steps) for turn in session.turns)
    assert calls[0] >= session.start.timestamp()
    assert calls[-1] - session.start.timestamp() == pytest.approx(scripted, abs=30)
    assert all(entry.end >= entry.start for entry in entries)


FORBIDDEN = {
    "homes": r"/home/|/Users/|/root\b",
    "our machine": r"/work/|/opt/venv|/opt/|site-packages|pyenv",
    "hosts of registries": r"(?:npmjs|pypi|pythonhosted|artifactory|nexus)\.",
    "keys": (
        r"\bsk-[A-Za-z0-9_-]{16}|\bgh[pos]_\w{16}|\bAKIA[0-9A-Z]{16}|\bAIza[\w-]{35}"
        r"|eyJ[\w-]{16,}\.[\w-]{16,}\.|AccountKey=|PRIVATE KEY|[Bb]earer [A-Za-z0-9._-]{16}"
    ),
    "credential headers": r"(?i)\"(?:authorization|cookie|set-cookie|x-api-key)\"",
}


@pytest.mark.parametrize("what", FORBIDDEN)
@pytest.mark.parametrize("name", ["demo.jsonl", "demo.session.toml"])
def test_nothing_is_in_it_that_must_not_be_shipped(name: str, what: str) -> None:
    found = re.search(FORBIDDEN[what], shipped(name).decode())
    assert found is None, shipped(name).decode()[found.start() - 60 : found.end() + 60]


def test_only_allowed_headers_are_kept(session: Session) -> None:
    _header, *lines = shipped(session.cassette).splitlines()
    names = {
        name
        for line in lines
        for side in ("request", "response")
        for name in orjson.loads(line)[side]["headers"]
    }
    assert {name for name in names if not name.startswith("mcp-")} == {"content-type"}
