"""`coldturn record` as a person runs it: a process that serves, survives a full disk and ends when told."""

from __future__ import annotations

import resource
import signal
import subprocess
from pathlib import Path

import httpx2
import pytest

from coldturn.replay.cli.app import main
from coldturn.replay.playback.recording import open_recording
from fake_provider import Say, Stall, serving
from recording_proxy import KEY, PROGRAM, QUESTION, recording


@pytest.mark.requirement("REC-6", "REC-8")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["session.jsonl", "session.yaml"])
def test_it_ends_cleanly_with_everything_written(tmp_path: Path, number: signal.Signals, name: str) -> None:
    path = tmp_path / name
    with serving(Say(["hello"]), Stall("never ends")) as provider:
        with recording(path, provider.url) as proxy, httpx2.Client() as client:
            assert "hel" in proxy.post(client).text
            with client.stream("POST", proxy.url + "/v1/messages", json=QUESTION) as response:
                next(response.iter_raw())
                said = proxy.end(number)
        assert len(provider.bodies) == 2
    assert proxy.process.returncode == 0
    assert said == f"coldturn: 2 exchanges recorded in {path}; masked values: credential 3\n"
    assert KEY.encode() not in path.read_bytes()
    first, second = open_recording(path).entries
    assert b"message_stop" in first.body
    assert b"message_start" in second.body  # what was under way is there as far as it came


@pytest.mark.requirement("REC-8")
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits another process")
def test_it_keeps_serving_when_the_disk_is_full_and_records_again_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with (
        serving(Say(["one"]), Say(["two"]), Say(["three"]), Say(["four"])) as provider,
        recording(path, provider.url) as proxy,
        httpx2.Client() as client,
    ):
        assert proxy.post(client).status_code == 200
        unlimited = resource.prlimit(proxy.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(proxy.process.pid, resource.RLIMIT_FSIZE, (path.stat().st_size + 100, unlimited[1]))
        texts = [proxy.post(client).text for _ in range(2)]
        complaint = proxy.line()
        resource.prlimit(proxy.process.pid, resource.RLIMIT_FSIZE, unlimited)
        texts.append(proxy.post(client).text)
        said = proxy.end()
    assert [word in text for word, text in zip(["two", "three", "four"], texts, strict=True)] == [True] * 3
    assert complaint.startswith(f"coldturn: {path} cannot be written (file too large): traffic goes on")
    assert said.splitlines() == [
        f"coldturn: {path} is written again; 2 exchanges are missing from it",
        f"coldturn: 2 exchanges recorded in {path}; 2 could not be written; masked values: credential 8",
    ]
    assert proxy.process.returncode == 2
    assert [b"one" in entry.body for entry in open_recording(path).entries] == [True, False]


@pytest.mark.requirement("REC-8")
def test_a_recording_is_added_to_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with serving(Say(["one"]), Say(["two"])) as provider, httpx2.Client() as client:
        for options in ([], ["--append"]):
            with recording(path, provider.url, *options) as proxy:
                proxy.post(client)
                proxy.end()
        run = subprocess.run(  # noqa: S603 - ours
            [*PROGRAM, "--upstream", provider.url, "--out", str(path)],
            capture_output=True,
            check=False,
            timeout=120,
        )
    assert run.returncode == 2
    assert b"[recording-exists]" in run.stderr
    assert len(open_recording(path).entries) == 2


def test_wrong_usage_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "session.jsonl"
    for slug, arguments in {
        "upstream": ["--upstream", "localhost"],
        "secret-variable": ["--upstream", "http://h", "--secret-env", "UNSET_KEY"],
    }.items():
        with pytest.raises(SystemExit) as left:
            main(["record", "proxy", "--out", str(path), "--port", "0", *arguments])
        assert left.value.code == 2
        assert f"[{slug}]" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_each_command_of_the_group_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("proxy", "stdio"):
        with pytest.raises(SystemExit) as left:
            main(["record", name, "--help"])
        assert left.value.code == 0
        assert f"coldturn record {name} --" in capsys.readouterr().out
