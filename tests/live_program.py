"""`coldturn run` in this process: agent files, and how it ends."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from coldturn.replay.cli.app import main
from fake_provider import Answer, FakeProvider, serving

KEY = "sk-live-0123456789abcdefghij"
TOY = Path(__file__).parent / "replay" / "toy_server.py"
AGENT = """
memory = "- likes sums"
[spec]
name = "adder"
surface = "{surface}"
model = "some-model"
instructions = "Add what you are given."
"""
TOYS = f"""
[[spec.connections]]
id = "toys"
description = "Sums"
command = ["{sys.executable}", "{TOY}"]
"""
LOCAL_TOOLS = """
[[spec.local_tools]]
name = "todo_write"
[[spec.local_tools]]
name = "remember"
"""


@dataclass(frozen=True)
class Ended:
    """What a run left."""

    code: int
    out: str
    notes: str


Launch = Callable[..., Ended]


def launcher(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> Launch:
    """Runs the program in this process: an agent file, options, lines of the user."""

    def run(
        provider: FakeProvider | None, *options: str, agent: str = "", lines: Sequence[str] = ()
    ) -> Ended:
        path = folder / "agent.toml"
        path.write_text(agent or AGENT.format(surface="responses"), encoding="utf-8")
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"):
            monkeypatch.delenv(name, raising=False)
        for name, value in (provider.environment(KEY) if provider is not None else {}).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        with pytest.raises(SystemExit) as left:
            main(["run", str(path), *options])
        assert isinstance(left.value.code, int)
        printed = capsys.readouterr()
        return Ended(left.value.code, printed.out, printed.err)

    return run


def ask(launch: Launch, *script: Answer, agent: str = "", options: Sequence[str] = ()) -> Ended:
    with serving(*script) as provider:
        ended = launch(provider, "--message", "Go.", *options, agent=agent)
    assert KEY not in ended.out + ended.notes
    return ended
