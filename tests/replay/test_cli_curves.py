"""`coldturn curves` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coldturn.replay.cli.app import main

TRACE = "".join(
    json.dumps({"timestamp": at, "input_length": 1_024, "output_length": 1, "hash_ids": ids}) + "\n"
    for at, ids in ((0, [1, 2]), (5_000, [3, 4]), (20_000, [1, 2]), (21_000, [1, 5]))
)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["curves", *arguments])
    printed = capsys.readouterr()
    return left.value.code, printed.out, printed.err


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.jsonl"
    path.write_text(TRACE)
    return path


def test_a_trace_as_text(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, str(trace))
    assert not code
    assert "4, with 8 blocks" in out
    assert "reads 37.5 % of them (estimated)" in out
    assert [line.split() for line in out.splitlines() if line.endswith("20")] == [
        [share, "4", "20"] for share in ("50%", "80%", "90%", "95%", "99%", "100%")
    ]


def test_a_trace_as_json(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, str(trace), "--json")
    assert not code
    assert json.loads(out) == {
        "schema": "coldturn.curves/1",
        "curves": [
            {
                "unit": "blocks",
                "requests": 4,
                "left_out": 0,
                "total": 8,
                "ceiling_estimated": 3,
                "capacity": [{"bound": 2, "read_estimated": 1}, {"bound": 4, "read_estimated": 3}],
                "lifetime_seconds": [
                    {"bound": 1.0, "read_estimated": 1},
                    {"bound": 20.0, "read_estimated": 3},
                ],
            }
        ],
    }


def test_requests_and_traces_are_not_mixed_and_broken_lines_are_told(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace.write_text(TRACE + '{"hash_ids": [1], "timestamp": 0, "input_length": -5}\n')
    body = '{"model":"m","messages":[{"role":"user","content":"%s"}]}\n' % ("x" * 400)
    log = tmp_path / "log.jsonl"
    log.write_text(body * 2)
    code, out, err = run(capsys, str(log), str(trace), "--json")
    assert not code
    units = {one["unit"]: one for one in json.loads(out)["curves"]}
    assert set(units) == {"blocks", "estimated tokens"}
    assert units["blocks"]["left_out"] == 1
    assert units["estimated tokens"]["ceiling_estimated"] == 100
    assert units["estimated tokens"]["lifetime_seconds"] is None
    assert "negative length" in err


def test_a_picture(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "curves.svg"
    code, _, err = run(capsys, str(trace), "--out", str(picture))
    assert not code
    assert "drawn into" in err
    assert "<svg" in picture.read_text()
    code, _, err = run(capsys, str(trace), "--out", str(tmp_path / "curves.nothing"))
    assert code == 2
    assert "--out" in err


def test_inputs_that_cannot_be_used(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, str(tmp_path / "missing.jsonl"))
    assert code == 2
    assert "missing-input" in err
    lines = [json.loads(line) for line in TRACE.splitlines()]
    trace.write_text(
        "".join(
            json.dumps({**one, "hash_ids": one["hash_ids"][::-1]}) + "\n" for one in lines[:1] + lines[3:]
        )
        + TRACE
    )
    code, _, err = run(capsys, str(trace))
    assert code == 2
    assert "not-prefix-hashes" in err
    trace.write_text(TRACE.splitlines()[0] + "\n")
    code, _, err = run(capsys, str(trace), "--out", str(tmp_path / "nothing.png"))
    assert not code
    assert "nothing to draw" in err


@pytest.mark.parametrize("held", ["[]", "{}", '{"interactions": []}', '{"log": {"entries": []}}'])
def test_an_input_without_a_request_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], held: str, trace: Path
) -> None:
    path = tmp_path / "empty.json"
    path.write_text(held)
    code, out, err = run(capsys, str(path))
    assert (code, out) == (2, "")
    assert err.startswith(f"coldturn: {path}: ")
    assert err.count("\n") == 1
    code, out, err = run(capsys, str(trace), str(path))
    assert "4, with 8 blocks" in out
    assert err.startswith(f"coldturn: {path}: ")
