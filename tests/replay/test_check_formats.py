"""What `check` says to CI."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from cli_runs import Run, runner
from coldturn.analysis.breaks.findings import ReadError
from coldturn.replay.check.baseline import Baseline
from coldturn.replay.check.formats import github, junit
from coldturn.replay.check.judged import Cold, GateFinding, Judged, Kind, Mend, Notes
from replay.gate_logs import SYSTEM, broken, sound

HOSTILE = 'a,b:c%\n\r"<&>\x00\ud800é'


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in an empty folder, outside CI."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    return runner(capsys)


def judged() -> Judged:
    finding = GateFinding(
        Kind.NEW_BREAK, HOSTILE, 1, "tool_added", "tools", "$", HOSTILE, Mend.FIX, "recorded"
    )
    return Judged(
        (finding,),
        (),
        (Cold(HOSTILE, 7, "recorded"),),
        (),
        Notes(),
        Baseline(),
        ((HOSTILE, "recorded"),),
        2,
        0,
    )


def test_junit_has_a_case_for_each_recording(run: Run) -> None:
    sound("a.jsonl")
    broken("b.jsonl")
    Path("c.yaml").write_text("interactions: [\n", encoding="utf-8")
    ran = run("check", "a.jsonl", "b.jsonl", "c.yaml", "--format", "junit")
    assert ran.code == 2
    root = ET.fromstring(ran.out)  # noqa: S314 - we wrote it
    (suite,) = root.findall("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    cases = {case.get("classname"): case for case in suite.findall("testcase")}
    assert set(cases) == {"a.jsonl", "b.jsonl", "c.yaml"}
    failure = cases["b.jsonl"].find("failure")
    assert failure is not None
    assert failure.get("type") == "new_break"
    assert "--create" in (failure.text or "")
    assert cases["c.yaml"].find("error") is not None


def test_junit_stays_xml_whatever_names_hold() -> None:
    text = junit(judged(), [ReadError(HOSTILE, None, HOSTILE)])
    root = ET.fromstring(text.encode())  # noqa: S314 - we wrote it
    failures = list(root.iter("failure"))
    assert len(failures) == 1
    assert "é" in (failures[0].text or "")


def test_github_annotations_point_at_the_recording(run: Run) -> None:
    broken("logs/a.jsonl")
    ran = run("check", "logs", "--format", "github")
    assert ran.code == 1
    (line,) = ran.out.splitlines()
    assert line.startswith(
        "::error file=logs/a.jsonl,title=new break%3A catalog_growth::request 2 parts from"
    )
    sound("logs/a.jsonl")
    run("check", "logs", "--create")
    sound("logs/a.jsonl", SYSTEM + "more")
    (line,) = run("check", "logs", "--format", "github").out.splitlines()
    assert re.match(r"::notice file=logs/a\.jsonl,title=cold on deploy::cold on deploy: \d+ bytes", line)


def test_github_annotations_cannot_be_broken_out_of() -> None:
    for line in github(judged(), [ReadError(HOSTILE, None, HOSTILE)]):
        assert "\n" not in line
        assert "\r" not in line
        properties, _, _ = line.removeprefix("::").partition("::")
        assert len(properties.partition(" ")[2].split(",")) == 2
        assert "a%2Cb%3Ac%25%0A%0D" in line
