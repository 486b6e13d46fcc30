"""`coldturn chart`: every kind of picture, from recordings, traces and Parquet."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from cli_runs import Run, runner
from coldturn.replay.cli.chart import Kind
from coldturn.traces.otlp import SpanFile
from coldturn.traces.spans import SpanObserver
from fake_run import FakeClock, tell

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "requests.jsonl"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    for policy in ("stable", "stable+clock=system"):
        clock, path = FakeClock(), tmp_path / "traces" / f"{policy}.jsonl"
        with SpanObserver(SpanFile(path), clock=clock, recording="demo", policy=policy) as observer:
            tell(observer, clock)
    return tmp_path / "traces"


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.CURVES])
def test_every_kind_of_a_trace(run: Run, traces: Path, tmp_path: Path, kind: Kind) -> None:
    out = tmp_path / "x.png"
    done = run("chart", kind, str(traces), "-o", str(out))
    assert (done.code, done.out) == (0, "")
    assert done.err == f"coldturn: drawn into {out}\n"
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "kind", [Kind.HIT_RATE, Kind.PREFIX_MAP, Kind.BREAKS, Kind.ZONES, Kind.STEPS, Kind.CURVES]
)
def test_kinds_of_a_recording_of_requests(run: Run, tmp_path: Path, kind: Kind) -> None:
    out = tmp_path / "x.svg"
    assert run("chart", kind, str(EXAMPLE), "-o", str(out), "--title", "Is it warm?").code == 0
    assert "<svg" in out.read_text()


def test_parquet_and_the_recording_that_it_was_made_from_give_one_picture(run: Run, tmp_path: Path) -> None:
    assert run("convert", str(EXAMPLE), "-o", str(tmp_path / "t"), "--to", "parquet").code == 0
    for name, source in (("a", EXAMPLE), ("b", tmp_path / "t")):
        assert run("chart", "zones", str(source), "-o", str(tmp_path / f"{name}.svg")).code == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_what_an_input_does_not_tell_is_one_sentence_and_no_file(run: Run, tmp_path: Path) -> None:
    for kind, sentence in (
        ("catalogue", "no turn names its MCP servers"),
        ("ablation", "no policy has variants"),
    ):
        done = run("chart", kind, str(EXAMPLE), "-o", str(tmp_path / "x.png"))
        assert done.code == 2
        assert sentence in done.err
        assert "[empty-chart]" in done.err
    assert run("chart", "zones", str(tmp_path / "none.json"), "-o", str(tmp_path / "x.png")).code == 2
    assert run("chart", "zones", str(EXAMPLE), "-o", str(tmp_path / "x.docx")).code == 2
    assert run("chart", "pie", str(EXAMPLE), "-o", str(tmp_path / "x.png")).code == 2
    assert not list(tmp_path.iterdir())


def test_one_unreadable_input_of_two_draws_the_other_and_exits_2(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"a": 1}')
    done = run("chart", "zones", str(EXAMPLE), str(tmp_path / "bad.json"), "-o", str(tmp_path / "x.png"))
    assert done.code == 2
    assert (tmp_path / "x.png").exists()


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize(
    "command", [("chart", "zones", str(EXAMPLE), "-o"), ("curves", str(EXAMPLE), "--out")], ids=lambda c: c[0]
)
def test_a_picture_of_ours_is_replaced_and_nothing_else(
    run: Run, tmp_path: Path, command: tuple[str, ...], ending: str
) -> None:
    out = tmp_path / f"x.{ending}"
    out.touch()
    assert run(*command, str(out)).code == 0
    assert run(*command, str(out)).code == 0, "it was drawn by coldturn"
    theirs = Figure()
    theirs.savefig(out)
    kept = out.read_bytes()
    done = run(*command, str(out))
    assert done.code == 2
    assert "no picture of coldturn, so it stays" in done.err
    assert out.read_bytes() == kept
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    "command",
    [
        ("chart", "zones", str(EXAMPLE), "-o"),
        ("report", str(EXAMPLE), "-o"),
        ("curves", str(EXAMPLE), "--out"),
    ],
    ids=lambda command: command[0],
)
def test_a_place_that_is_no_file_or_is_an_input_is_one_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "empty.png").touch()
    places = ["", ".", "folder.png", "empty.png"] + ["x.gif", "x", "x.svgz"] * (command[0] != "report")
    for place in places:
        inputs = ("empty.png",) if place == "empty.png" else ()
        done = run(*command[:-1], *inputs, command[-1], place)
        assert (done.code, done.out) == (2, "")
        assert len(done.err.splitlines()) == 1
        assert "[usage]" in done.err
    assert {path.name for path in tmp_path.iterdir()} == {"folder.png", "empty.png"}
    assert (tmp_path / "empty.png").read_bytes() == b""
