"""An agent recorded from outside: its model through the proxy, its servers through shims; then replayed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from coldturn.replay.cli.app import main
from coldturn.replay.playback.recording import open_recording
from fake_provider import Say, serving
from recording_proxy import KEY, recording

TOY = Path(__file__).with_name("toy_server.py")
COLDTURN = [sys.executable, "-m", "coldturn.replay.cli.app"]
DOCS = Path(__file__).parents[2] / "docs" / "recording.md"

AGENT = """
[spec]
name = "sums"
surface = "{surface}"
model = "fake-model-1"
instructions = "You help with sums."

[[spec.connections]]
id = "toy"
command = {command}
"""


def _call(tool: str, **arguments: object) -> Say:
    return Say(calls=[("mcp_call_tool", {"server": "toy", "tool": tool, "input": arguments})])


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.requirement("REC-8", "REP-7")
@pytest.mark.parametrize("surface", ["messages", "responses"])
def test_a_live_run_recorded_from_outside_replays_without_its_servers(
    tmp_path: Path, surface: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "session.jsonl"
    shim = [*COLDTURN, "record", "stdio", "--out", str(tape), "--name", "toy", "--", sys.executable, str(TOY)]
    agent = tmp_path / "agent.toml"
    agent.write_text(AGENT.format(surface=surface, command=json.dumps(shim)))
    script = [_call("add", a=40, b=2), _call("count"), Say(["It is 42."])]
    with serving(*script) as provider, recording(tape, provider.url) as proxy:
        base = {"ANTHROPIC_BASE_URL": proxy.url, "OPENAI_BASE_URL": proxy.url + "/v1"}
        keys = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
        ran = subprocess.run(  # noqa: S603 - ours
            [*COLDTURN, "run", str(agent), "--message", "What is 40 + 2?"],
            env={**os.environ, **base, **keys},
            capture_output=True,
            check=True,
            timeout=60,
        )
        proxy.end()
    assert ran.stdout == b"It is 42.\n"
    assert KEY.encode() not in tape.read_bytes()
    entries = open_recording(tape).entries
    assert [entry.request_body for entry in entries if entry.url.startswith(provider.url)] == provider.bodies
    for out in ("first", "second"):
        with pytest.raises(SystemExit) as left:
            main(["replay", str(tape), "--compare", "naive,stable", "--out", str(tmp_path / out), "--json"])
        assert left.value.code == 0
    assert _files(tmp_path / "first") == _files(tmp_path / "second")
    (report,) = json.loads(capsys.readouterr().out.split("\n}\n")[0] + "\n}")["recordings"]
    naive, stable = report["policies"]
    assert (naive["policy"], stable["policy"]) == ("naive", "stable")
    assert naive["input_bytes"] != stable["input_bytes"]
    assert report["connections"][0]["calls"] == 2
    assert report["unmapped_calls"] == 0


def test_the_agent_of_the_guide_records_itself(tmp_path: Path) -> None:
    """The Python example of docs/recording.md, as it stands there."""
    (example,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "agent.py").write_text(example)
    (tmp_path / "server.py").write_text(TOY.read_text())
    with serving(Say(["hello"])) as provider:
        subprocess.run(
            [sys.executable, "agent.py"],
            cwd=tmp_path,
            env={**os.environ, "ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY},
            check=True,
            timeout=60,
        )
    entries = open_recording(tmp_path / "session.jsonl").entries
    assert {entry.server for entry in entries} == {"files", provider.url + "/v1/messages"}
    assert provider.bodies[0] in [entry.request_body for entry in entries]
