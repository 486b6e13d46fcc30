"""The plugin's marks, fixture, settings and manners, in a project of somebody else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from coldturn.replay.check.judge import Rules
from coldturn.replay.check.judged import Mend
from coldturn.replay.pytest_plugin.session import open_session
from gate.conftest import ROOT, Project
from replay.gate_logs import GROWN, body

FOLDER = "tests/cassettes/test_agent"
BROKEN = f"{FOLDER}/test_broken.yaml"
SOUND = f"{FOLDER}/test_sound.yaml"
MOVES = '@pytest.mark.moves_prefix(reason="{}")'


def test_a_mark_with_a_reason_lets_a_test_move_its_prefix(
    project: Project, vcr_tests: Callable[..., None]
) -> None:
    vcr_tests("broken", before=MOVES.format("the catalogue grows here"))
    project.broken(BROKEN)
    ran = project.pytest("--coldturn=check", "--strict-markers", "-W", "error")
    assert ran.code == 0, ran.out
    assert "1 exempted" in ran.out
    assert project.pytest("--coldturn=create").code == 0
    assert project.recordings()[BROKEN]["breaks"] == [], "what is exempted is not accepted"
    assert project.pytest("--coldturn=check", "-n1").code == 0


def test_a_mark_on_an_accepted_break_does_not_mend_it(
    project: Project, vcr_tests: Callable[..., None]
) -> None:
    vcr_tests("broken")
    project.broken(BROKEN)
    project.pytest("--coldturn=create")
    accepted = project.recordings()[BROKEN]["breaks"]
    vcr_tests("broken", before=MOVES.format("the catalogue grows here"))
    assert "mended since" not in project.pytest("--coldturn=check").out
    assert project.pytest("--coldturn=fix,trim").code == 0
    assert project.recordings()[BROKEN]["breaks"] == accepted != []


def test_pytest_itself_tells_of_the_mark_the_fixture_and_the_settings(project: Project) -> None:
    def told(option: str) -> list[str]:
        command = [str(project.python), "-m", "pytest", "-p", "no:cacheprovider", option]
        done = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=True)  # noqa: S603 - ours
        return [" ".join(line.split()) for line in done.stdout.splitlines()]

    marks = [line for line in told("--markers") if "moves_prefix" in line]
    assert len(marks) == 1
    assert marks[0].startswith("@pytest.mark.moves_prefix(reason): the recordings of this test move")
    fixtures = told("--fixtures")
    (at,) = (at for at, line in enumerate(fixtures) if line.startswith("prefix_check -- "))
    assert fixtures[at + 1].startswith("Check one recording inside a test:")
    shown = told("--help")
    first = shown.index("prompt-cache prefixes:")
    ours = shown[first : shown.index("", first)]
    assert ours[1].startswith("--coldturn=WORD[,WORD]")
    for word in ("check", "create", "fix", "trim", "update", "off"):
        assert re.search(rf"\b{word}\b", " ".join(ours))
    assert any(line.startswith("coldturn (string):") for line in shown)
    assert any(line.startswith("coldturn_paths (linelist):") for line in shown)


def test_the_mark_is_known_where_the_gate_sleeps(project: Project, vcr_tests: Callable[..., None]) -> None:
    vcr_tests("broken", before=MOVES.format("it may"))
    project.broken(BROKEN)
    ran = project.pytest("--strict-markers", "-W", "error", "-q")
    assert ran.code == 0, ran.out
    assert "coldturn" not in ran.out


def test_a_mark_without_a_reason_is_refused_at_collection(project: Project) -> None:
    marks = ['(reason="")', '(reason="  ")', "", '("a reason")', '(reason="a", b=1)', "(reason=None)"]
    tests = [
        f"@pytest.mark.moves_prefix{mark}\ndef test_{number}(): assert False\n"
        for number, mark in enumerate(marks)
    ]
    project.write("tests/test_agent.py", "\n".join(["import pytest", *tests]))
    ran = project.pytest("--coldturn=check")
    assert ran.code == 2
    assert "1 error during collection" in ran.out
    for number in range(len(marks)):
        assert f'test_{number}: write @pytest.mark.moves_prefix(reason="...")' in ran.out


def test_a_mark_without_a_reason_is_refused_by_workers_too(
    project: Project, vcr_tests: Callable[..., None]
) -> None:
    vcr_tests("broken", before="@pytest.mark.moves_prefix")
    ran = project.pytest("--coldturn=check", "-n2")
    assert ran.code == 1
    assert 'write @pytest.mark.moves_prefix(reason="...")' in ran.out
    assert "passed" not in ran.out


def test_a_stale_mark_fails(project: Project, vcr_tests: Callable[..., None]) -> None:
    vcr_tests("sound", before=MOVES.format("it once did"))
    project.sound(SOUND)
    ran = project.pytest("--coldturn=check")
    assert ran.code == 1
    assert "the mark moves_prefix on test_sound is stale: no prefix broke" in ran.out
    vcr_tests("nothing", before=MOVES.format("it once did"))
    assert "it used no recording" in project.pytest("--coldturn=check").out


def test_a_mark_is_not_stale_on_a_test_that_did_not_get_that_far(
    project: Project, vcr_tests: Callable[..., None]
) -> None:
    vcr_tests("sound", before=MOVES.format("it will"), body_of="assert False")
    ran = project.pytest("--coldturn=check")
    assert "1 failed" in ran.out
    assert "is stale" not in ran.out
    vcr_tests("sound", before=MOVES.format("it will"), body_of="pytest.skip()")
    assert project.pytest("--coldturn=check").code == 0


@pytest.mark.parametrize("arguments", [[], ["-n1"]])
def test_a_finding_is_told_once(
    project: Project, vcr_tests: Callable[..., None], arguments: list[str]
) -> None:
    vcr_tests("broken")
    project.broken(BROKEN)
    ran = project.pytest("--coldturn=check", "-rN", *arguments)
    assert ran.code == 1
    assert ran.out.count("new_break") == 1, ran.out
    assert "1 finding (told above, with the tests)" in ran.out


def test_several_cassettes_of_one_test_are_all_checked(project: Project) -> None:
    project.write(
        "tests/test_agent.py", 'import pytest\n@pytest.mark.vcr("more.yaml")\ndef test_sound(): pass\n'
    )
    project.sound(SOUND)
    project.broken(f"{FOLDER}/more.yaml")
    ran = project.pytest("--coldturn=check")
    assert ran.code == 1
    assert f"in {FOLDER}/more.yaml" in ran.out
    assert "2 recordings looked at, 1 finding" in ran.out


def test_cassettes_of_a_projects_own_fixtures_are_checked(project: Project) -> None:
    project.write(
        "tests/test_agent.py",
        """
import pytest, vcr
from pathlib import Path


@pytest.fixture
def own():
    with vcr.use_cassette(str(Path(__file__).parent / "one.yaml")) as cassette:
        yield cassette


@pytest.fixture(scope="module")
def shared():
    with vcr.use_cassette(Path(__file__).parent / "two.yaml") as cassette:
        yield cassette


def test_own(own): pass
def test_shared(shared): pass
""",
    )
    project.broken("tests/one.yaml")
    project.broken("tests/two.yaml")
    ran = project.pytest("--coldturn=check")
    assert ran.code == 1
    assert "ERROR at teardown of test_own" in ran.out
    assert "tests/two.yaml: new_break catalog_growth" in ran.out
    ran = project.pytest("--coldturn=check", "-k", "shared")
    assert ran.code == 1
    assert "1 passed" in ran.out
    assert project.pytest("--coldturn=check", "-k", "shared", "-n1").code == 1


@pytest.mark.parametrize("path", ["loop", "missing.jsonl"])
def test_a_path_of_the_settings_that_is_no_file_is_told(project: Project, path: str) -> None:
    project.write("tests/test_agent.py", "def test_plain(): pass\n")
    project.write("pytest.ini", f"[pytest]\ncoldturn = check\ncoldturn_paths =\n    {path}\n")
    (project.folder / "loop").symlink_to("loop")
    ran = project.pytest()
    assert ran.code == 1
    assert f"{path}: coldturn_paths names it, and there is no such file" in ran.out


def test_folders_of_the_settings_are_checked_at_the_end(project: Project) -> None:
    project.write("tests/test_agent.py", "def test_plain(): pass\n")
    project.write("pytest.ini", "[pytest]\ncoldturn = check\ncoldturn_paths =\n    recordings\n")
    ran = project.pytest()
    assert ran.code == 1
    assert "recordings" in ran.out
    lines = (json.dumps(one) for one in (body("a"), body("a", "b", system=GROWN)))
    project.write("recordings/log.jsonl", "\n".join(lines) + "\n")
    for arguments in (["-n1"], []):
        ran = project.pytest(*arguments)
        assert ran.code == 1
        assert "1 passed" in ran.out
        assert "recordings/log.jsonl: new_break catalog_growth at request 1" in ran.out
    assert project.pytest("--coldturn=create").code == 0
    assert project.pytest().code == 0
    project.write("recordings/log.jsonl", '{"hello": 1}\n')
    ran = project.pytest()
    assert ran.code == 1
    assert "nothing_checked" in ran.out


def test_the_fixture_checks_a_recording_inside_a_test(project: Project) -> None:
    demo = ROOT / "replay/coldturn/replay/recordings/demo.jsonl"
    shutil.copy(demo, project.folder)
    shutil.copy(demo.with_suffix(".session.toml"), project.folder)
    project.broken("broken.yaml")
    project.sound("sound.yaml")
    project.write(
        "tests/test_agent.py",
        """
import pytest


def test_recorded(prefix_check):
    assert prefix_check("sound.yaml").requests == 2


def test_broken(prefix_check):
    prefix_check("broken.yaml")


def test_session(prefix_check):
    assert prefix_check("demo.jsonl", policy="stable").policy == "stable"


def test_session_alone(prefix_check):
    prefix_check("demo.jsonl")


def test_missing(prefix_check):
    prefix_check("nowhere.yaml")


@pytest.mark.moves_prefix(reason="on purpose")
def test_marked(prefix_check):
    prefix_check("broken.yaml")
""",
    )
    ran = project.pytest()
    assert ran.code == 1
    assert "4 failed, 2 passed" in ran.out
    assert "new_break tool_removed at request 41 tools $.tools[37] under stable in demo.jsonl" in ran.out
    assert "give a policy to replay it" in ran.out
    assert "nowhere.yaml: there is no such file" in ran.out
    ran = project.pytest("--coldturn=create", "-k", "session and not alone")
    assert ran.code == 0, ran.out
    assert project.recordings()["demo.jsonl"]["policy"] == "stable"
    assert project.pytest("-k", "session and not alone").code == 0


@pytest.mark.parametrize("arguments", [[], ["-n1"]])
def test_a_damaged_baseline_is_told_without_a_traceback(
    project: Project, vcr_tests: Callable[..., None], arguments: list[str]
) -> None:
    vcr_tests("sound", "broken")
    project.sound(SOUND)
    project.broken(BROKEN)
    project.lock.write_text("<<<<<<< HEAD\n", encoding="utf-8")
    ran = project.pytest("--coldturn=create,fix", *arguments)
    assert ran.code == 1
    assert "merge conflict" in ran.out
    assert project.lock.read_text(encoding="utf-8") == "<<<<<<< HEAD\n"


def test_cassettes_without_model_requests_are_none_of_our_business(
    project: Project, vcr_tests: Callable[..., None]
) -> None:
    vcr_tests("weather", "torn")
    project.cassette(f"{FOLDER}/test_weather.yaml", {"city": "Oslo"}, url="https://weather.example/today")
    project.write(f"{FOLDER}/test_torn.yaml", "interactions: []\nversion: 1\n")
    ran = project.pytest("--coldturn=check", "-W", "error")
    assert ran.code == 0, ran.out
    assert "0 recordings looked at, 0 findings" in ran.out


def test_a_recording_that_the_baseline_knows_may_not_become_unreadable(
    project: Project, vcr_tests: Callable[..., None]
) -> None:
    vcr_tests("sound")
    project.sound(SOUND)
    project.pytest("--coldturn=create")
    project.write(SOUND, "interactions: []\nversion: 1\n")
    ran = project.pytest("--coldturn=check")
    assert ran.code == 1
    assert "the baseline knows it" in ran.out


def test_trim_and_exemptions_work_as_on_the_command_line(
    project: Project, vcr_tests: Callable[..., None]
) -> None:
    vcr_tests("broken")
    project.broken(BROKEN)
    settings = project.write(
        "pyproject.toml",
        "[[tool.coldturn.check.exemptions]]\n"
        f'source = "{BROKEN}"\ncause = "catalog_growth"\nreason = "known"\n',
    )
    assert project.pytest("--coldturn=check").code == 0
    project.sound(BROKEN)
    ran = project.pytest("--coldturn=check")
    assert ran.code == 1
    assert "stale_exemption" in ran.out
    settings.write_text('[tool.coldturn.check]\ntolerance = "much"\n', encoding="utf-8")
    ran = project.pytest("--coldturn=check")
    assert ran.code == 1
    assert "tolerance of [tool.coldturn.check] has to be a number" in ran.out


def test_both_gates_have_one_set_of_settings(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.coldturn.check]\nbaseline = "ci/base.json"\ntolerance = 0.5\nlint = false\n', encoding="utf-8"
    )
    session = open_session(tmp_path, frozenset({"fix"}))
    assert session.gate.path == tmp_path / "ci/base.json"
    assert session.gate.rules == Rules(accept=frozenset({Mend.FIX}), tolerance=0.5)
    assert not session.recordings.lint
    plain = open_session(tmp_path / "other", frozenset())
    assert plain.gate.path == tmp_path / "other/coldturn.lock.json"
    assert plain.gate.rules == Rules()
    assert plain.recordings.lint


MODULES = """
import json, sys
from pathlib import Path

def test_plain(): pass

def pytest_sessionfinish():
    Path("modules.json").write_text(json.dumps(sorted(sys.modules)))
"""


def modules(project: Project, *arguments: str) -> set[str]:
    """What a run without recordings has imported at its end."""
    project.write("conftest.py", MODULES)
    project.write("tests/test_agent.py", "def test_plain(): pass\n")
    ran = project.pytest("-W", "error", "--strict-markers", "--strict-config", *arguments)
    assert ran.code == 0, ran.out + ran.err
    return set(json.loads((project.folder / "modules.json").read_text(encoding="utf-8")))


def test_a_run_without_recordings_loads_next_to_nothing(project: Project) -> None:
    without = modules(project, "-p", "no:coldturn")
    asleep = modules(project) - without
    assert asleep == {
        "coldturn",
        "coldturn.replay",
        "coldturn.replay.pytest_plugin",
        "coldturn.replay.pytest_plugin.words",
    }
    awake = modules(project, "--coldturn=check") - without
    heavy = {"mcp", "polars", "matplotlib", "vcr", "pydantic", "msgspec", "typer", "rich", "opentelemetry"}
    assert awake & heavy == set()
    assert len(awake) <= 12, awake


def test_checking_cassettes_loads_no_mcp_polars_or_matplotlib(
    project: Project, vcr_tests: Callable[..., None]
) -> None:
    project.write("conftest.py", MODULES)
    vcr_tests("sound")
    project.sound(SOUND)
    assert project.pytest("--coldturn=check").code == 0
    loaded = set(json.loads((project.folder / "modules.json").read_text(encoding="utf-8")))
    assert "coldturn.replay.check.gate" in loaded
    assert loaded & {"mcp", "polars", "matplotlib"} == set()
