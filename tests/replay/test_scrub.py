"""Old cassettes cleaned: every dialect, at equal length, and nothing else moves."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.capture.redaction import Redaction
from coldturn.replay.cli.app import main
from coldturn.replay.errors import BrokenRecordingError
from coldturn.replay.files.scrub import inspect_file, scrub_file
from coldturn.traces.cassette import iter_cassette
from coldturn.traces.errors import BrokenCassetteError

KEY = "sk-ant-" + "api03-" + "aB3_" * 20
OPAQUE = "opaque-account-id-1234"


def _cassette(body: Any, answer: Any) -> dict[str, Any]:  # noqa: ANN401 - a body in any dialect
    return {
        "interactions": [
            {
                "request": {
                    "method": "POST",
                    "uri": f"https://api.example/v1?key={KEY}",
                    "body": body,
                    "headers": {
                        "Authorization": [f"Bearer {KEY}"],
                        "X-Account": [OPAQUE],
                        "Content-Type": ["application/json"],
                    },
                },
                "response": {
                    "status": {"code": 200, "message": "OK"},
                    "headers": {"Set-Cookie": [OPAQUE, "b"], "date": ["Mon, 30 Nov 2026 10:00:00 GMT"]},
                    "body": answer if isinstance(answer, dict) else {"string": answer},
                },
            }
        ],
        "version": 1,
    }


TEXT = json.dumps({"a": 1, "text": f"é 😀\nkey: {KEY}\n" + "long words in a row " * 20, "n": 1.0})


def _write(path: Path, dump: Callable[[Any], str], body: Any = TEXT, answer: Any = TEXT) -> Path:  # noqa: ANN401 - likewise
    path.write_text(dump(_cassette(body, answer)), encoding="utf-8")
    return path


@dataclass(frozen=True)
class Styled:
    """Text that YAML writes in a style of its own."""

    text: str
    style: str


yaml.add_representer(
    Styled, lambda dumper, one: dumper.represent_scalar("tag:yaml.org,2002:str", one.text, style=one.style)
)
STYLES = ["", "|", ">", '"', "'"]


@pytest.mark.requirement("REC-6")
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("options", [{}, {"allow_unicode": True}, {"width": 10_000}, {"indent": 4}])
def test_yaml_in_every_style(tmp_path: Path, style: str, options: dict[str, Any]) -> None:
    text = Styled(TEXT, style)
    old = _write(tmp_path / "old.yaml", lambda value: yaml.dump(value, **options), text, text)
    _check(old, tmp_path / "new.yaml")


@pytest.mark.requirement("REC-6")
def test_json_and_json_lines(tmp_path: Path) -> None:
    for dump in (json.dumps, lambda value: json.dumps(value, indent=1, ensure_ascii=False)):
        _check(_write(tmp_path / "old.json", dump), tmp_path / "new.json")
        (tmp_path / "new.json").unlink()
    lines = [json.dumps({"coldturn": {"version": 1}}), json.dumps(_cassette(TEXT, TEXT)["interactions"][0])]
    old = tmp_path / "old.jsonl"
    old.write_text("\n".join([*lines, lines[1], lines[1][:-30]]))
    done = _check(old, tmp_path / "new.jsonl", entries=2)
    assert done.torn


@pytest.mark.requirement("REC-6")
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_bodies_in_base64_packed_or_not(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    body = pack(TEXT.encode())
    spelt = base64.b64encode(body).decode()
    made = {
        "a.yaml": _write(tmp_path / "old.yaml", yaml.dump, answer=body),
        "b.json": _write(tmp_path / "old.json", json.dumps, answer={"base64_string": spelt}),
        "c.json": _write(tmp_path / "older.json", json.dumps, answer={"b64": spelt}),
    }
    for name, old in made.items():
        scrub_file(old, tmp_path / name, Redaction())
        (entry,) = iter_cassette(tmp_path / name)
        answer = entry.response_body or b""
        plain = gzip.decompress(answer) if pack is gzip.compress else answer
        assert plain == TEXT.replace(KEY, "*" * len(KEY)).encode()


def _check(old: Path, new: Path, *, entries: int = 1) -> Any:  # noqa: ANN401 - Scrubbed
    before = old.read_bytes()
    done = scrub_file(old, new, Redaction())
    assert old.read_bytes() == before
    cleaned = new.read_bytes()
    assert KEY.encode() not in cleaned
    assert OPAQUE.encode() not in cleaned
    read = list(iter_cassette(new))
    assert len(read) == entries
    for entry in read:
        assert entry.request_body.decode() == TEXT.replace(KEY, "*" * len(KEY))
        assert entry.response_body == entry.request_body
        assert entry.uri == f"https://api.example/v1?key={'*' * len(KEY)}"
        headers = dict(entry.request_headers)
        assert headers["authorization"] == "*" * len(f"Bearer {KEY}")
        assert headers["content-type"] == "application/json"
        assert dict(entry.response_headers)["date"] == "Mon, 30 Nov 2026 10:00:00 GMT"
    assert done.headers["x-account"] == entries
    assert inspect_file(new, Redaction()).total == 0
    return done


@pytest.mark.requirement("REC-6")
def test_what_holds_no_secret_keeps_its_bytes(tmp_path: Path) -> None:
    old = tmp_path / "old.yaml"
    old.write_text(
        "# a comment\ninteractions:\n- request: {method: GET, uri: 'http://h/', body: null, headers: {}}\n"
        '  response:\n    body: &b {string: "x\\u00e9"}\n    status: {code: 200, message: OK}\n'
        f"    headers: {{x-token: [*b, {OPAQUE}]}}\n".replace("*b, ", "")
        + f"    note: 'it is {KEY}'   # behind\nversion: 1\n",
        encoding="utf-8",
    )
    scrub_file(old, old, Redaction())
    expected = (
        "# a comment\ninteractions:\n- request: {method: GET, uri: 'http://h/', body: null, headers: {}}\n"
        '  response:\n    body: &b {string: "x\\u00e9"}\n    status: {code: 200, message: OK}\n'
        f'    headers: {{x-token: ["{"*" * len(OPAQUE)}"]}}\n'
        f'    note: "it is {"*" * len(KEY)}"   # behind\nversion: 1\n'
    )
    assert old.read_text(encoding="utf-8") == expected


def test_pairs_of_headers_and_tags_of_classes(tmp_path: Path) -> None:
    old = tmp_path / "old.yaml"
    old.write_text(
        "interactions:\n- request:\n    method: POST\n    uri: http://h/\n    body: hello\n    headers:\n"
        "    - !!python/tuple [authorization, Basic abc]\n    - [Content-Type, text/plain]\n"
        "  response:\n    headers: !!python/object/new:os.system\n      dictitems: {}\n"
        "    status: {code: 200}\n    body: {string: x}\nversion: 1\n"
    )
    scrub_file(old, tmp_path / "new.yaml", Redaction())
    text = (tmp_path / "new.yaml").read_text()
    assert '!!python/tuple [authorization, "*********"]' in text
    assert "[Content-Type, text/plain]" in text
    assert "!!python/object/new:os.system" in text  # it is never executed, and not ours to judge


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(text=st.text(max_size=80), style=st.sampled_from(STYLES), unicode=st.booleans())
def test_any_text_around_a_key_survives(tmp_path: Path, text: str, style: str, unicode: bool) -> None:
    try:
        whole = Styled(f"{text} {KEY} {text}", style)
        dumped = yaml.dump(_cassette(whole, whole), allow_unicode=unicode)
        old = tmp_path / "old.yaml"
        old.write_bytes(dumped.encode())
        (before,) = iter_cassette(old)
    except (UnicodeEncodeError, ColdturnError):
        return  # what cannot be a cassette
    scrub_file(old, tmp_path / "new.yaml", Redaction())
    (after,) = iter_cassette(tmp_path / "new.yaml")
    assert after.request_body == before.request_body.replace(KEY.encode(), b"*" * len(KEY))
    assert after.response_body == (before.response_body or b"").replace(KEY.encode(), b"*" * len(KEY))


@pytest.mark.requirement("REC-3", "REC-6")
def test_a_broken_cassette_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    old.write_text('{"coldturn":{"version":1}}\n{"request": 1}\n{"request"\n')
    before = old.read_bytes()
    with pytest.raises(BrokenCassetteError):
        scrub_file(old, old, Redaction())
    assert old.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["old.jsonl"]


def test_a_result_that_would_move_something_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coldturn.replay.files.scrub.yaml_spelling", lambda value, was: '"short"')
    old = _write(tmp_path / "old.yaml", yaml.dump)
    with pytest.raises(BrokenRecordingError, match="entry 0"):
        scrub_file(old, tmp_path / "new.yaml", Redaction())
    assert [path.name for path in tmp_path.iterdir()] == ["old.yaml"]


def test_a_compressed_file_stays_compressed(tmp_path: Path) -> None:
    old = tmp_path / "old.yaml.gz"
    old.write_bytes(gzip.compress(yaml.dump(_cassette(TEXT, TEXT)).encode()))
    scrub_file(old, tmp_path / "new.yaml.gz", Redaction())
    assert KEY.encode() not in gzip.decompress((tmp_path / "new.yaml.gz").read_bytes())
    assert len(list(iter_cassette(tmp_path / "new.yaml.gz"))) == 1


def test_every_published_cassette_is_cleaned_or_refused(corpus: Path, tmp_path: Path) -> None:
    cleaned, refused = 0, 0
    for path in sorted(path for path in corpus.rglob("*") if path.is_file()):
        try:
            scrub_file(path, tmp_path / "clean", Redaction())
        except ColdturnError:
            refused += 1
        else:
            cleaned += 1
            assert len(list(iter_cassette(tmp_path / "clean"))) == len(list(iter_cassette(path)))
    assert cleaned > 100, f"cleaned {cleaned}, refused {refused}"


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["scrub", *arguments])
    return int(left.value.code or 0)


@pytest.mark.requirement("REC-6")
def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = _write(tmp_path / "old.yaml", yaml.dump), tmp_path / "new.yaml"
    assert _run(str(old)) == 2  # never over a file unasked
    assert "--in-place" in capsys.readouterr().err
    assert _run(str(old), "--check") == 1
    assert "anthropic_key 3" in capsys.readouterr().out
    assert _run(str(old), "-o", str(new)) == 0
    assert "cleaned of 3 values (anthropic_key 3) and 4 headers" in capsys.readouterr().out
    assert _run(str(old), "-o", str(new)) == 2
    assert "recording-exists" in capsys.readouterr().err
    assert _run(str(new), "--check") == 0
    assert "nothing to clean" in capsys.readouterr().out
    monkeypatch.setenv("MY_KEY", "long words in")
    assert _run(str(new), "--in-place", "--secret-env", "MY_KEY", "--json") == 0
    assert json.loads(capsys.readouterr().out)["values"] == {"MY_KEY": 40}
    assert "long words" not in new.read_text()
    assert _run(str(new), "--check", "--secret-env", "UNSET_KEY") == 2
    assert "secret-variable" in capsys.readouterr().err
