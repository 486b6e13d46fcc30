"""Recordings through the reference runtime."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from coldturn.reference.observer import StepInfo, StepScope
from coldturn.reference.policy import POLICIES, Policy
from coldturn.replay.errors import PlaybackMissError
from coldturn.replay.runs.policies import policy_named, with_settings
from coldturn.replay.runs.results import PolicyResult
from coldturn.replay.runs.runner import ReplayOptions, replay, replay_policy, replay_recording
from coldturn.replay.runs.step_log import StepLog
from coldturn.replay.sessions.loading import open_replayable

McpTape = Callable[..., list[Any]]
WriteTape = Callable[..., Path]
TEMPORAL = "vcr-mcp/pydantic-ai__test_temporal__test_mcptoolset_in_temporal_workflow.yaml"
RULE = "longest-prefix-1024-128"
STABLE = POLICIES["stable"]


def _replayed(path: Path, policy: Policy = STABLE, out: Path | None = None) -> PolicyResult:
    return replay_recording(path, [policy], ReplayOptions(out=out)).policies[0]


def _spans(result: PolicyResult) -> list[dict[str, Any]]:
    assert result.trace is not None
    lines = Path(result.trace).read_text().splitlines()
    return [json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for line in lines]


def _many_tools(count: int) -> list[str]:
    return ["read_file", "write_file", *(f"tool_{number:03d}" for number in range(count - 2))]


THREE_CALLS = [
    (1.0, "read_file", {"path": "a"}, "A"),
    (2.0, "read_file", {"path": "b"}, "B"),
    (90.0, "write_file", {"path": "a", "text": "x"}, "ok"),
]


@pytest.mark.requirement("REP-1", "REP-2")
def test_a_public_cassette_of_mcp_and_openai_replays(corpus: Path, tmp_path: Path) -> None:
    recording = replay_recording(corpus / TEMPORAL, [STABLE], ReplayOptions(out=tmp_path))
    assert [(c.server, c.sessions, c.calls, c.lists) for c in recording.connections] == [
        ("DeepWiki", 2, 1, 2)
    ]
    assert recording.unmapped_calls == 0
    (result,) = recording.policies
    assert [(step.turn, step.step) for step in result.steps] == [(0, 0), (0, 1)]
    assert result.extra_steps == 0
    assert result.playback.played + result.playback.unplayed == 7
    names = [span["name"] for span in _spans(result)]
    assert names.count("chat gpt-4o") == 2
    assert "execute_tool DeepWiki__ask_question" in names
    assert names[-1].startswith("invoke_agent")
    # the runtime asked the recorded server through the real client: the answer stands in the second prompt
    assert result.steps[1].input_bytes - result.steps[0].input_bytes > 5_000


@pytest.mark.requirement("REP-1")
def test_every_turn_and_step_comes_out_as_a_span(
    write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path
) -> None:
    result = _replayed(write_tape(mcp_tape(THREE_CALLS)), out=tmp_path / "traces")
    assert result.turns == 2
    assert [(step.turn, step.step) for step in result.steps] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    names = [span["name"] for span in _spans(result)]
    assert sum(name.startswith("invoke_agent") for name in names) == 2
    assert sum(name.startswith("chat") for name in names) == 5
    assert sum(name.startswith("execute_tool") for name in names) == 3
    assert result.playback.unplayed == 0
    assert result.trace == str(tmp_path / "traces" / "tape.stable.jsonl")


@pytest.mark.requirement("REP-3")
def test_the_clock_is_the_recordings_and_nobody_waits(
    write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path
) -> None:
    began = time.monotonic()
    result = _replayed(write_tape(mcp_tape(THREE_CALLS)), out=tmp_path)
    assert time.monotonic() - began < 60  # the recording spans 90 seconds
    turns = [span for span in _spans(result) if span["name"].startswith("invoke_agent")]
    starts = [int(span["startTimeUnixNano"]) / 1e9 - 1_780_000_000 for span in turns]
    assert starts == [pytest.approx(1.0), pytest.approx(90.0)]


@pytest.mark.requirement("REP-3")
def test_a_server_that_announces_nothing_is_asked_again_when_the_recording_shows_other_tools(
    write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path
) -> None:
    later = mcp_tape([(90.0, "extra", {}, "E")], at=80.0, tools=["read_file", "write_file", "extra"])
    result = _replayed(write_tape([*mcp_tape(THREE_CALLS[:2]), *later]), out=tmp_path)
    spans = _spans(result)
    lists = [span for span in spans if span["name"] == "tools/list"]
    assert len(lists) == 2
    called = [span["name"] for span in spans if span["name"].startswith("execute_tool")]
    # new tools of a known server are reached through the meta tools until the next boundary
    assert called[-1] == "execute_tool mcp_call_tool"
    assert result.playback.unplayed == 1  # the second handshake


@pytest.mark.requirement("REP-5")
def test_calls_of_deferred_tools_become_list_describe_call(write_tape: WriteTape, mcp_tape: McpTape) -> None:
    path = write_tape(mcp_tape(THREE_CALLS, tools=_many_tools(150)))
    stable = _replayed(path)
    # one list for the server, one description for each of the two tools, whatever the number of calls
    assert stable.extra_steps == 3
    assert len(stable.steps) == 5 + 3
    assert stable.playback.unplayed == 0
    naive = _replayed(path, POLICIES["naive"])
    assert naive.extra_steps == 0
    assert len(naive.steps) == 5


@pytest.mark.requirement("REP-5")
@pytest.mark.parametrize(("tools", "route", "extra"), [(60, "facade", 2), (150, "search", 4)])
def test_facade_and_search_users_describe_before_the_first_use(
    write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path, tools: int, route: str, extra: int
) -> None:
    write_tape(
        mcp_tape(THREE_CALLS, tools=_many_tools(tools)),
        name="x.jsonl",
        servers={"http://stdio.files.invalid/mcp": "files"},
    )
    session = tmp_path / "x.session.toml"
    session.write_text(
        'cassette = "x.jsonl"\n[spec]\n[[spec.connections]]\nid = "files"\npreload = true\n'
        '[[turns]]\nuser = "go"\n'
        + "".join(
            '[[turns.steps]]\n[[turns.steps.calls]]\nserver = "files"\n'
            f'tool = "{tool}"\narguments = {arguments}\n'
            for tool, arguments in [
                ("read_file", '{ path = "a" }'),
                ("read_file", '{ path = "b" }'),
                ("write_file", '{ path = "a", text = "x" }'),
            ]
        )
    )
    result = _replayed(session, out=tmp_path)
    assert result.extra_steps == extra
    routes = [
        attribute["value"]["stringValue"]
        for span in _spans(result)
        if span["name"].startswith("execute_tool")
        for attribute in span["attributes"]
        if attribute["key"] == "coldturn.tool.route"
    ]
    assert routes.count(route) >= 3


@pytest.mark.requirement("REP-5")
def test_under_append_a_described_tool_is_called_directly(write_tape: WriteTape, mcp_tape: McpTape) -> None:
    path = write_tape(mcp_tape(THREE_CALLS, tools=_many_tools(150)))
    result = _replayed(path, POLICIES["catalog-in-suffix"])
    assert result.extra_steps == 3
    assert result.breaks.by_cause.get("tool_promoted") == 2
    assert _replayed(path).breaks.by_cause == {}


SESSION = """
cassette = "x.jsonl"
start = 2026-03-04T05:06:07Z
late = ["late"]
memory = "likes tea"

[spec]
surface = "messages"
model = "claude-sonnet-4-5"
instructions = "Be brief."
[[spec.connections]]
id = "files"
[[spec.connections]]
id = "late"
[[spec.local_tools]]
name = "todo"

[[turns]]
user = "first"
after = 0.0
answer = "Done."
[[turns.steps]]
after = 1.5
[[turns.steps.calls]]
server = "files"
tool = "read_file"
arguments = { path = "a" }
[[turns.steps.calls]]
tool = "todo"
result = "noted"
memory = "likes coffee"
reminder = { todo = "- buy milk" }

[[turns]]
user = "second"
after = 60.0
connect = ["late"]
disconnect = ["files"]
answer = "Good."
[[turns.steps]]
[[turns.steps.calls]]
server = "late"
tool = "later"
"""


@pytest.fixture
def session_file(write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path) -> Path:
    write_tape(
        [
            *mcp_tape([(1.0, "read_file", {"path": "a"}, "contents of a")]),
            *mcp_tape(
                [(3.0, "later", {}, "better late")],
                url="http://stdio.late.invalid/mcp",
                at=2.0,
                tools=["later"],
            ),
        ],
        name="x.jsonl",
        servers={"http://stdio.files.invalid/mcp": "files", "http://stdio.late.invalid/mcp": "late"},
    )
    path = tmp_path / "x.session.toml"
    path.write_text(SESSION)
    return path


@pytest.mark.anyio
@pytest.mark.requirement("REP-2")
async def test_a_session_file_says_turns_decisions_clock_and_host_events(
    session_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies: list[dict[str, Any]] = []
    real = StepLog.step

    def spy(log: StepLog, info: StepInfo) -> AbstractContextManager[StepScope]:
        bodies.append(json.loads(info.body))
        return real(log, info)

    monkeypatch.setattr(StepLog, "step", spy)
    result = await replay_policy(open_replayable(session_file), STABLE)
    # what a server brings that connects later is listed and described first
    assert [(step.turn, step.step) for step in result.steps] == [
        *((0, step) for step in range(2)),
        *((1, step) for step in range(4)),
    ]
    first, second, third, *_, last = (json.dumps(body) for body in bodies)
    assert bodies[0]["model"] == "claude-sonnet-4-5"
    assert "Be brief." in first
    assert "likes tea" in first
    assert "files__read_file" in first
    assert "late__later" not in first
    assert "contents of a" in second
    assert "noted" in second
    assert "buy milk" not in first
    assert "buy milk" in second
    assert "likes coffee" in third  # a memory shows from the next turn on
    assert "Done." in third
    assert "better late" in last
    assert "2026-03-04" in first
    assert result.playback.unplayed == 0


@pytest.mark.anyio
async def test_a_cassette_takes_the_session_file_beside_it(session_file: Path) -> None:
    opened = open_replayable(session_file.with_name("x.jsonl"))
    assert [turn.user for turn in opened.script.session.turns] == ["first", "second"]
    assert opened.label == "x"


@pytest.mark.requirement("REC-4")
def test_a_call_that_was_never_recorded_stops_the_replay_with_the_nearest(session_file: Path) -> None:
    session_file.write_text(SESSION.replace('path = "a"', 'path = "z"'))
    with pytest.raises(PlaybackMissError, match=r'arguments\.path is "a" instead of "z"'):
        replay_recording(session_file, [STABLE])


def test_one_broken_recording_does_not_stop_the_rest(
    write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path
) -> None:
    good = write_tape(mcp_tape(THREE_CALLS))
    bad = tmp_path / "bad.yaml"
    bad.write_text("interactions:\n- request: {method: GET\n")
    report = replay([bad, good, tmp_path / "missing.jsonl"], [STABLE])
    assert [Path(recording.source).name for recording in report.recordings] == ["tape.jsonl"]
    assert [Path(error.source).name for error in report.errors] == ["bad.yaml", "missing.jsonl"]


@pytest.mark.requirement("REP-7")
def test_two_runs_write_the_same_bytes_whatever_the_hash_seed(
    write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path
) -> None:
    tape = write_tape(mcp_tape(THREE_CALLS, tools=_many_tools(40)))
    program = (
        "import sys; from pathlib import Path\n"
        "from coldturn.reference.policy import POLICIES\n"
        "from coldturn.replay.runs.runner import ReplayOptions, replay_recording\n"
        "names = ['naive', 'catalog-in-suffix', 'stable']\n"
        "replay_recording(sys.argv[1], [POLICIES[n] for n in names], ReplayOptions(out=Path(sys.argv[2])))\n"
    )
    written: list[dict[str, bytes]] = []
    for seed in ("0", "1", "4711"):
        # another folder each time: where a recording lies must not show either
        folder = tmp_path / f"seed-{seed}"
        folder.mkdir()
        moved = folder / tape.name
        moved.write_bytes(tape.read_bytes())
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", program, str(moved), str(folder / "out")]
        subprocess.run(command, env=environment, check=True)  # noqa: S603 - our own interpreter
        written.append({path.name: path.read_bytes() for path in sorted((folder / "out").iterdir())})
    assert len(written[0]) == 3
    assert all(len(content) > 1_000 for content in written[0].values())
    assert written[0] == written[1] == written[2]


@pytest.mark.requirement("REP-6")
def test_the_json_has_every_key_and_its_figures_add_up(write_tape: WriteTape, mcp_tape: McpTape) -> None:
    path = write_tape(mcp_tape(THREE_CALLS, tools=_many_tools(150)))
    document = replay([path], [POLICIES["catalog-in-system"]]).as_json()
    assert list(document) == ["schema", "recordings", "errors"]
    (recording,) = document["recordings"]
    assert list(recording) == ["source", "connections", "unmapped_calls", "policies", "ablation"]
    (policy,) = recording["policies"]
    assert list(policy) == [
        "policy", "turns", "steps", "extra_steps", "input_bytes", "input_tokens_estimated", "breaks",
        "hit_rate_ceiling_estimated", "hit_rate_estimated", "uncached_tokens_estimated", "cost_estimated",
        "trace", "playback",
    ]  # fmt: skip
    steps = policy["steps"]
    assert list(steps[0]) == [
        "turn", "step", "input_bytes", "input_tokens_estimated", "common_bytes", "break", "read_estimated",
    ]  # fmt: skip
    assert policy["input_bytes"] == sum(step["input_bytes"] for step in steps)
    tokens = sum(step["input_tokens_estimated"] for step in steps)
    read = sum(step["read_estimated"][RULE] for step in steps)
    assert policy["input_tokens_estimated"] == tokens
    assert policy["uncached_tokens_estimated"] == {RULE: tokens - read}
    assert policy["hit_rate_estimated"][RULE] == pytest.approx(read / tokens)
    assert policy["hit_rate_ceiling_estimated"] >= policy["hit_rate_estimated"][RULE]
    breaks = policy["breaks"]
    assert list(breaks) == ["planned", "unplanned", "by_cause", "later_by_cause", "in_system_text"]
    assert sum(breaks["by_cause"].values()) == breaks["planned"] + breaks["unplanned"] > 0
    assert breaks["in_system_text"] == 2  # both promotions also changed the catalogue in the system text
    first = next(step["break"] for step in steps if step["break"])
    assert first["cause"] == "tool_promoted"
    assert {"request", "entry", "parent", "path", "verdict", "later", "vendor", "remedy"} <= first.keys()
    json.dumps(document)


def test_settings_change_single_fields_and_name_the_policy(tmp_path: Path) -> None:
    changed = with_settings(STABLE, ["clock=system", "result_tokens=100"])
    assert (changed.name, changed.clock, changed.result_tokens) == (
        "stable+clock=system+result_tokens=100",
        "system",
        100,
    )
    own = tmp_path / "mine.toml"
    own.write_text('memory = "system"\n')
    assert policy_named(str(own)).name == "mine"
    assert policy_named(str(own)).memory == "system"
