"""The baseline file: its bytes, and what it does with files that are not as they should be."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli_runs import Run, runner
from coldturn.replay.check.baseline import MIGRATIONS, VERSION
from coldturn.replay.check.errors import BaselineError
from coldturn.replay.check.gate import Gate
from coldturn.replay.check.judge import Rules
from coldturn.replay.check.judged import Mend
from coldturn.replay.check.recorded import measure_file
from replay.gate_logs import SYSTEM, broken, sound

LOCK = Path("coldturn.lock.json")
Damage = Callable[[dict[str, Any]], object]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in an empty folder, outside CI."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    return runner(capsys)


@pytest.fixture
def locked(run: Run) -> Run:
    """The same, with a baseline of one recording that breaks."""
    broken()
    assert run("check", "a.jsonl", "--create").code == 0
    return run


def test_the_same_recordings_give_the_same_bytes(run: Run) -> None:
    for name in ("x/a.jsonl", "y/a.jsonl", "é.jsonl"):
        broken(name)
    run("check", "x/a.jsonl", "y/a.jsonl", "é.jsonl", "--create")
    first = LOCK.read_bytes()
    assert b"\r" not in first
    for order in (["é.jsonl", "y", "x"], [str(Path("x").resolve()), "y/../y/a.jsonl", "é.jsonl"]):
        LOCK.unlink()
        assert run("check", *order, "--create").code == 0
        assert LOCK.read_bytes() == first
    lines = first.decode().splitlines()
    sources = [json.loads(line.rstrip(","))["source"] for line in lines if '"source"' in line]
    assert sources == ["x/a.jsonl", "y/a.jsonl", "é.jsonl"]


def test_a_change_of_one_recording_changes_its_line_alone(run: Run) -> None:
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        sound(name)
    run("check", "a.jsonl", "b.jsonl", "c.jsonl", "--create")
    before = LOCK.read_text().splitlines()
    broken("b.jsonl")
    run("check", "a.jsonl", "b.jsonl", "c.jsonl", "--fix")
    after = LOCK.read_text().splitlines()
    assert len(before) == len(after)
    changed = [line for old, line in zip(before, after, strict=True) if old != line]
    assert len(changed) == 1
    assert "b.jsonl" in changed[0]


def test_paths_start_at_the_baseline(run: Run) -> None:
    broken("logs/a.jsonl")
    Path("ci").mkdir()
    run("check", "logs", "--create", "--baseline", "ci/../base.lock.json")
    assert run("check", "logs", "--baseline", str(Path("base.lock.json").resolve())).code == 0
    run("check", "logs", "--create", "--baseline", "ci/base.lock.json")
    assert '"../logs/a.jsonl"' in Path("ci/base.lock.json").read_text()


def test_a_folder_may_be_moved_with_its_baseline(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    broken("one/logs/a.jsonl")
    run("check", "one/logs", "--create", "--baseline", "one/coldturn.lock.json")
    Path("one").rename("two")
    monkeypatch.chdir("two")
    assert run("check", "logs").code == 0


def test_a_folder_reached_by_a_link_is_the_same_one(run: Run) -> None:
    broken("real/logs/a.jsonl")
    Path("link").symlink_to("real")
    run("check", "real/logs", "--create", "--baseline", "link/coldturn.lock.json")
    assert '"logs/a.jsonl"' in Path("real/coldturn.lock.json").read_text()
    assert run("check", "link/logs", "--baseline", "real/coldturn.lock.json").code == 0


def test_exemptions_of_settings_start_in_their_own_folder(run: Run) -> None:
    broken("project/logs/a.jsonl")
    Path("project/pyproject.toml").write_text(
        "[[tool.coldturn.check.exemptions]]\n"
        'source = "logs/a.jsonl"\ncause = "catalog_growth"\nreason = "known"\n',
        encoding="utf-8",
    )
    gate = Gate.open(Path("elsewhere.lock.json"), settings=Path("project/pyproject.toml"))
    measured = measure_file(Path("project/logs/a.jsonl"), gate.places)
    assert measured is not None
    assert gate.judge([measured]).ok
    assert not Gate.open(Path("elsewhere.lock.json"), settings=None).judge([measured]).ok


def test_a_renamed_recording_is_new_and_the_old_name_is_told(locked: Run) -> None:
    Path("a.jsonl").rename("b.jsonl")
    ran = locked("check", "b.jsonl")
    assert ran.code == 1
    assert "but gone: a.jsonl" in ran.err
    assert locked("check", "b.jsonl", "--create", "--trim").code == 0
    assert "a.jsonl" not in LOCK.read_text()
    assert locked("check", "b.jsonl").code == 0


def test_files_of_one_name_in_two_folders_are_two(run: Run) -> None:
    sound("x/a.jsonl")
    run("check", "x", "--create")
    broken("y/a.jsonl")
    assert run("check", "x", "y").code == 1


def test_the_baseline_in_a_folder_of_recordings_is_no_recording(run: Run) -> None:
    sound()
    run("check", ".", "--create")
    ran = run("check", ".", "--json")
    assert ran.code == 0
    assert ran.json["errors"] == []
    assert ran.err == ""


def test_other_line_ends_and_a_mark_are_read_and_left_alone(locked: Run) -> None:
    windows = b"\xef\xbb\xbf" + LOCK.read_bytes().replace(b"\n", b"\r\n")
    LOCK.write_bytes(windows)
    assert locked("check", "a.jsonl").code == 0
    LOCK.write_bytes(windows[3:])
    assert locked("check", "a.jsonl", "--fix").code == 0
    assert LOCK.read_bytes() == windows[3:]


def first(data: dict[str, Any]) -> dict[str, Any]:
    line: dict[str, Any] = data["recordings"][0]
    return line


DAMAGES: dict[str, Damage] = {
    "no list": lambda data: data.update(recordings={}),
    "null": lambda data: data.update(recordings=None),
    "a number for a name": lambda data: first(data).update(source=1),
    "text for a number": lambda data: first(data).update(requests="3"),
    "true for a number": lambda data: first(data).update(requests=True),
    "less than nothing": lambda data: first(data).update(requests=-1),
    "a rate over one": lambda data: first(data).update(hit_rate_estimated=7),
    "no rate": lambda data: first(data).update(hit_rate_estimated=float("nan")),
    "a key of ours missing": lambda data: first(data).pop("policy"),
    "a key that is not ours": lambda data: first(data).update(sourc="x"),
    "a break without requests": lambda data: first(data)["breaks"][0].update(requests=[]),
    "a line twice": lambda data: data["recordings"].append(first(data)),
    "other rules": lambda data: data.update(rules="mine"),
    "no schema": lambda data: data.pop("schema"),
    "a schema of others": lambda data: data.update(schema="poetry.lock/1"),
    "a schema that is a number": lambda data: data.update(schema=1),
    "a version that never was": lambda data: data.update(schema="coldturn.lock/0"),
    "exemptions that are no list": lambda data: data.update(exemptions={"a": 1}),
    "an exemption that is text": lambda data: data.update(exemptions=["a.jsonl"]),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_baseline_is_refused_in_a_sentence(locked: Run, name: str) -> None:
    data = json.loads(LOCK.read_text())
    DAMAGES[name](data)
    LOCK.write_text(json.dumps(data))
    before = LOCK.read_bytes()
    for words in ([], ["--fix", "--create", "--trim", "--update"]):
        ran = locked("check", "a.jsonl", *words)
        assert ran.code == 2, ran.out
        assert str(LOCK) in ran.err
        assert ran.err.count("\n") == 1
        assert ran.out == ""
    assert LOCK.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON"),
        ("[]", "or remove it and make it anew with --create"),
        ("{", "line 1"),
        ("[]", "no object"),
        ("[" * 100_000, "no JSON"),
        ("\ud800", "no UTF-8"),
        ('{"schema": "coldturn.lock/2"}', "update coldturn"),
        ("{\n<<<<<<< HEAD\n=======\n>>>>>>> theirs\n}\n", "line 2"),
        ("{\r\n<<<<<<< HEAD\r\n", "merge conflict"),
    ],
)
def test_a_file_that_is_no_baseline_is_refused(run: Run, text: str, words: str) -> None:
    sound()
    LOCK.write_bytes(text.encode("utf-8", "surrogatepass"))
    ran = run("check", "a.jsonl", "--create")
    assert ran.code == 2
    assert words in ran.err
    assert LOCK.read_bytes() == text.encode("utf-8", "surrogatepass")


def test_older_formats_are_brought_up_by_a_chain_of_steps(
    locked: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = {VERSION - 1: lambda data: {**data, "schema": f"coldturn.lock/{VERSION}"}}
    monkeypatch.setattr("coldturn.replay.check.baseline_file.MIGRATIONS", {**MIGRATIONS, **steps})
    data = json.loads(LOCK.read_text())
    LOCK.write_text(json.dumps({**data, "schema": f"coldturn.lock/{VERSION - 1}"}))
    assert locked("check", "a.jsonl").code == 0


def test_a_place_that_cannot_be_written_is_told(run: Run) -> None:
    sound()
    ran = run("check", "a.jsonl", "--create", "--baseline", "nowhere/x.lock.json")
    assert ran.code == 2
    assert "nowhere" in ran.err
    Path("folder").mkdir()
    assert run("check", "a.jsonl", "--create", "--baseline", "folder").code == 2


def test_a_baseline_that_somebody_else_changed_meanwhile_is_left_alone(locked: Run) -> None:
    gate = Gate.open(LOCK, Rules(accept=frozenset({Mend.FIX})))
    measured = measure_file(Path(sound()), gate.places)
    assert measured is not None
    theirs = LOCK.read_bytes() + b"\n"
    LOCK.write_bytes(theirs)
    with pytest.raises(BaselineError, match="changed while this ran"):
        gate.write(gate.judge([measured]))
    assert LOCK.read_bytes() == theirs


def test_a_linked_baseline_stays_a_link_with_its_mode(locked: Run) -> None:
    Path("shared").mkdir()
    LOCK.rename("shared/real.json")
    LOCK.symlink_to("shared/real.json")
    Path("shared/real.json").chmod(0o640)
    sound()
    assert locked("check", "a.jsonl", "--fix").code == 0
    assert LOCK.is_symlink()
    assert '"breaks": []' in Path("shared/real.json").read_text()
    assert stat.S_IMODE(Path("shared/real.json").stat().st_mode) == 0o640


def test_writing_is_whole_or_not_at_all(locked: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = LOCK.read_bytes()

    def fails(self: Path, target: object) -> None:
        raise OSError(28, "No space left on device")

    sound(system=SYSTEM + "more")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", fails)
        ran = locked("check", "a.jsonl", "--update", "--fix")
    assert ran.code == 2
    assert "no space left" in ran.err
    assert LOCK.read_bytes() == before
    assert sorted(path.name for path in Path().iterdir()) == ["a.jsonl", "coldturn.lock.json"]


def _anthropic(*, marked: bool) -> None:
    """A conversation that grows, with a marker behind its last message or with none."""
    lines = []
    for turns in range(1, 4):
        said = [
            f"{role} {number}: {SYSTEM * 40}" for number in range(turns) for role in ("user", "assistant")
        ]
        parts: list[dict[str, Any]] = [{"type": "text", "text": text} for text in said[:-1]]
        if marked:
            parts[-1]["cache_control"] = {"type": "ephemeral"}
        messages = [{"role": part["text"].partition(" ")[0], "content": [part]} for part in parts]
        body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": SYSTEM, "messages": messages}
        lines.append(json.dumps(body))
    Path("a.jsonl").write_text("\n".join(lines) + "\n")


def test_markers_that_are_gone_fail_the_gate(run: Run) -> None:
    """No text differs, and from now on everything is paid for."""
    _anthropic(marked=True)
    assert run("check", "a.jsonl", "--create").code == 0
    assert b'"marked": true' in LOCK.read_bytes()
    assert run("check", "a.jsonl").code == 0
    _anthropic(marked=False)
    shown = run("check", "a.jsonl", "--json")
    assert shown.code == 1
    (found,) = shown.json["findings"]
    assert (found["cause"], found["request"], found["source"]) == ("breakpoint_missing", None, "a.jsonl")
    assert "no request of a.jsonl has a cache marker any more" in found["message"]
    assert run("check", "a.jsonl", "--fix").code == 0
    assert b"marked" not in LOCK.read_bytes()
    assert run("check", "a.jsonl").code == 0


def test_what_was_never_marked_is_no_finding(run: Run) -> None:
    _anthropic(marked=False)
    assert run("check", "a.jsonl", "--create").code == 0
    assert b"marked" not in LOCK.read_bytes()
    assert run("check", "a.jsonl").code == 0
    _anthropic(marked=True)
    assert run("check", "a.jsonl").code == 0


def test_a_setting_stands_nowhere_in_the_text(run: Run) -> None:
    _anthropic(marked=True)
    path = Path("a.jsonl")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], lines[2].replace("claude-sonnet-4-5", "claude-opus-4-5")]) + "\n")
    shown = run("check", "a.jsonl", "--json")
    (found,) = [one for one in shown.json["findings"] if one["cause"] == "model_changed"]
    assert found["message"].startswith("request 2 parts from request 1: model_changed")
    assert " in None" not in found["message"]
    assert "0 bytes" not in found["message"].split("are sent anew")[0].split(";")[1][:9]


def test_a_pipe_is_no_baseline_and_is_not_waited_for(run: Run) -> None:
    sound("a.jsonl")
    os.mkfifo("pipe")
    shown = run("check", "a.jsonl", "--baseline", "pipe")
    assert shown.code == 2
    assert "the baseline pipe cannot be used: it is no file" in shown.err
