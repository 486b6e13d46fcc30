"""A repository that uses pytest-recording gets the gate by installing coldturn and adding one option."""

from __future__ import annotations

import json
from collections.abc import Callable

from fake_provider import Say, serving
from gate.conftest import AGENT, Project
from replay.gate_logs import GROWN, SYSTEM

SOUND = "tests/cassettes/test_agent/test_sound.yaml"
BROKEN = "tests/cassettes/test_agent/test_broken.yaml"

SHORT = 'SHORT = "You are hasty."\nGROWN ='
MOVES = '@pytest.mark.moves_prefix(reason="it is cut here")'
TESTS = f"""
import pytest
from agent import ask

GROWN = {GROWN!r}


@pytest.mark.vcr
def test_sound():
    ask("a")
    ask("a", "b")


@pytest.mark.vcr
def test_broken():
    ask("a")
    ask("a", "b", system=GROWN)


def test_without_recording():
    pass
"""


def record(project: Project) -> None:
    """Record both cassettes with pytest-recording against a provider on this machine; coldturn sleeps."""
    project.write("tests/agent.py", AGENT.format(system=SYSTEM))
    project.write("tests/test_agent.py", TESTS)
    with serving(*[Say(["Yes."])] * 4) as provider:
        project.environment["PROVIDER"] = f"{provider.url}/v1/chat/completions"
        ran = project.pytest("--record-mode=once", "-W", "error", "--strict-markers")
    assert ran.code == 0, ran.out
    assert "coldturn" not in ran.out.replace("plugins: coldturn", "")
    assert not project.lock.exists()


def test_one_option_gives_the_gate(project: Project) -> None:
    record(project)
    ran = project.pytest("--coldturn=check")
    assert ran.code == 1
    assert "3 passed, 1 error" in ran.out
    assert "ERROR at teardown of test_broken" in ran.out
    assert f"coldturn: new_break catalog_growth at request 1 system $.messages[0] in {BROKEN}" in ran.out
    assert "accept: pytest --coldturn=create" in ran.out
    assert "coldturn: 2 recordings looked at, 1 finding" in ran.out
    assert "(told above, with the tests)" in ran.out
    assert not project.lock.exists()

    assert project.pytest("--coldturn=create").code == 0
    assert project.recordings().keys() == {SOUND, BROKEN}
    assert project.pytest("--coldturn=check").code == 0

    # A break in the cassette that the baseline knows as sound.
    cassette = project.folder / SOUND
    text = cassette.read_text(encoding="utf-8")
    first, second = "- read: reads", "- read: reads anew"
    at = text.rindex(first)
    cassette.write_text(text[:at] + second + text[at + len(first) :], encoding="utf-8")
    ran = project.pytest("--coldturn=check", "-k", "sound")
    assert ran.code == 1
    assert "coldturn: new_break " in ran.out
    assert f" in {SOUND}" in ran.out
    assert "accept: pytest --coldturn=fix" in ran.out
    assert project.pytest("--coldturn=create").code == 1
    assert project.pytest("--coldturn=fix").code == 0


def test_a_break_in_what_a_test_sends_is_seen_before_the_cassette_is_recorded_anew(project: Project) -> None:
    record(project)
    assert project.pytest("--coldturn=create").code == 0
    tests = project.folder / "tests/test_agent.py"
    tests.write_text(TESTS.replace('("a", "b")', '("a", "b", system=SHORT)').replace("GROWN =", SHORT))
    for words in ("check", "fix", "create"):
        ran = project.pytest(f"--coldturn={words}", "-W", "error")
        assert ran.code == 1, words
        assert "3 passed, 1 error" in ran.out, "the cassette answered"
        assert f"new_break system_replaced at request 1 system $.messages[0] in {SOUND}" in ran.out, ran.out
        assert "seen in what the test sent; the cassette holds other requests" in ran.out
        assert "looked at, 0 findings, 1 known, 1 in what tests sent (told above" in ran.out
        assert "accept: record the cassette anew, then pytest --coldturn=fix" in ran.out
    assert project.pytest("--coldturn=check", "-n1").code == 1

    marked = tests.read_text().replace("\ndef test_sound", f"\n{MOVES}\ndef test_sound")
    tests.write_text(marked)
    assert project.pytest("--coldturn=check").code == 0, "the mark is not stale"


def test_a_part_of_a_cassette_is_no_finding(project: Project) -> None:
    record(project)
    assert project.pytest("--coldturn=create").code == 0
    tests = project.folder / "tests/test_agent.py"
    tests.write_text(TESTS.replace('    ask("a")\n    ask("a", "b")\n', '    ask("c")\n'))
    ran = project.pytest("--coldturn=check", "-k", "sound")
    assert ran.code == 0, ran.out


def test_the_setting_is_worth_the_option(project: Project, vcr_tests: Callable[..., None]) -> None:
    vcr_tests("broken")
    project.broken(BROKEN)
    project.write("pytest.ini", "[pytest]\ncoldturn = check\n")
    assert project.pytest().code == 1
    assert project.pytest("--coldturn=off").code == 0
    project.write("pytest.ini", "[pytest]\ncoldturn = chekc\n")
    ran = project.pytest()
    assert ran.code == 4
    assert "'chekc' is none of check, create" in ran.err


def test_workers_leave_the_baseline_to_the_one_that_started_them(
    project: Project, vcr_tests: Callable[..., None]
) -> None:
    names = [f"n{number}" for number in range(4)]
    vcr_tests(*names, "broken")
    for name in names:
        project.sound(f"tests/cassettes/test_agent/test_{name}.yaml")
    project.broken(BROKEN)
    ran = project.pytest("-n2", "--coldturn=check")
    assert ran.code == 1
    assert "5 passed, 1 error" in ran.out
    assert "coldturn: 5 recordings looked at, 1 finding" in ran.out
    assert project.pytest("-n2", "--coldturn=create").code == 0
    several = project.lock.read_bytes()
    project.lock.unlink()
    assert project.pytest("--coldturn=create").code == 0
    assert project.lock.read_bytes() == several


def test_nothing_is_rewritten_in_ci(project: Project, vcr_tests: Callable[..., None]) -> None:
    vcr_tests("broken")
    project.broken(BROKEN)
    ran = project.pytest("--coldturn=create,fix,trim,update", CI="true")
    assert ran.code == 1
    assert "this is CI" in ran.out
    assert not project.lock.exists()
    assert project.pytest("--coldturn=create", CI="false").code == 0
    assert project.lock.exists()


def test_a_changed_prompt_is_told_and_passes(project: Project, vcr_tests: Callable[..., None]) -> None:
    vcr_tests("sound")
    project.sound(SOUND)
    project.pytest("--coldturn=create")
    cassette = project.folder / SOUND
    changed = cassette.read_text(encoding="utf-8").replace("You are careful.", "You are very careful.")
    cassette.write_text(changed, encoding="utf-8")
    ran = project.pytest("--coldturn=check")
    assert ran.code == 0
    assert "cold on deploy: " in ran.out
    assert "--coldturn=update accepts it" in ran.out
    assert project.pytest("--coldturn=update").code == 0
    assert "cold on deploy" not in project.pytest("--coldturn=check").out


def test_the_command_line_and_the_plugin_share_one_baseline(
    project: Project, vcr_tests: Callable[..., None]
) -> None:
    import subprocess

    vcr_tests("broken")
    project.broken(BROKEN)
    project.pytest("--coldturn=create")
    program = project.python.parent.parent.glob("lib/python*/site-packages/bin/coldturn")
    command = [str(project.python), str(next(program)), "check", "tests/cassettes", "--json"]
    done = subprocess.run(command, cwd=project.folder, capture_output=True, check=True)  # noqa: S603 - ours
    assert json.loads(done.stdout)["ok"] is True
