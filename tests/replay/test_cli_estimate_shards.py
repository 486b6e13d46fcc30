"""`estimate --shards N` says what one pass says, whatever is read and however often."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cli_runs import Run, runner
from coldturn.analysis.estimates.shares import Share

CHAT = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"
MESSAGES = "https://api.anthropic.com/v1/messages"
MODELS = (
    ("gpt-4o", CHAT),
    ("gpt-4.1", CHAT),
    ("gpt-4o", "https://contoso.openai.azure.com/v1/chat/completions"),
    ("claude-sonnet-4-5", MESSAGES),
    ("unheard-of", CHAT),
    ("deepseek-chat", "https://api.deepseek.com/chat/completions"),
)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def _request(model: str, url: str, texts: list[str], **more: Any) -> str:  # noqa: ANN401 - JSON
    content = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}} for text in texts[-1:]]
    said: list[dict[str, Any]] = [{"role": "user", "content": text} for text in texts[:-1]]
    last = {"role": "user", "content": content if url == MESSAGES else texts[-1]}
    body = {"model": model, "max_tokens": 9, "messages": [*said, last]}
    return json.dumps({"url": url, "request": body, **more})


def _recording(seed: int) -> str:
    """Conversations of several models in turns, with gaps in time, refusals, and lines that are none."""
    random = Random(seed)  # noqa: S311 - a workload, no secret
    talks: list[tuple[str, str, list[str]]] = [
        (*model, [f"start {n} " * 700]) for n, model in enumerate(MODELS)
    ]
    lines = []
    for number in range(40):
        model, url, texts = random.choice(talks)
        texts.append(f"turn {number} " * random.choice((5, 300)))
        usage = {"prompt_tokens": 500 * len(texts), "completion_tokens": 4}
        if random.random() < 0.5:
            usage |= {"prompt_tokens_details": {"cached_tokens": 128 * len(texts)}}  # type: ignore[dict-item]
        answer = {"id": f"r{number}", "choices": [{"message": {"content": "ok"}}], "usage": usage}
        started = number * 40 - random.choice((0, 0, 90))
        status = random.choice((200, 200, 200, 429))
        lines.append(_request(model, url, texts, response=answer, started=started, status=status))
    # Each goes on from the last, whichever model gave it.
    for number in range(8):
        body: dict[str, Any] = {
            "model": ("gpt-4o", "gpt-4.1")[number % 3 % 2],
            "input": f"next {number} " * 400,
        }
        if number:
            body["previous_response_id"] = f"c{seed}.{number - 1}"
        answer = {"id": f"c{seed}.{number}", "output": [], "usage": {"input_tokens": 1_500 * (number + 1)}}
        lines.append(
            json.dumps({"url": RESPONSES, "request": body, "response": answer, "started": 2_000 + number})
        )
    lines.insert(7, '{"no": "request"}')
    lines.insert(21, "{broken")
    return "\n".join(lines) + "\n"


def _blocks(seed: int) -> str:
    """Block hashes, some of which stand behind others than before, and lines that are odd or none."""
    random = Random(seed)  # noqa: S311 - a workload, no secret
    talks = [[n * 1_000] for n in range(5)]
    lines = []
    for number in range(120):
        talk = random.choice(talks)
        talk += [random.randrange(10**6) for _ in range(random.randrange(3))]
        blocks = talk if random.random() < 0.9 else [*talk[: len(talk) // 2], 1_000, *talk[-2:]]
        at = number * 1_000 - random.choice((0, 0, 0, 5_000))
        size = 512 * len(blocks) - random.randrange(300)
        lines.append(
            json.dumps({"timestamp": at, "input_length": size, "output_length": 1, "hash_ids": blocks})
        )
    lines.insert(9, json.dumps({"timestamp": 0, "input_length": -1, "hash_ids": [1]}))
    return "\n".join(lines) + "\n"


USAGE = "model,prompt_tokens,cached_tokens,completion_tokens,conversation\n" + "".join(
    f"deepseek-chat,{1_000 + 300 * turn},{64 * 15 * (turn > 0)},50,c{turn % 3}\n" for turn in range(12)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    recordings = tmp_path / "in"
    recordings.mkdir()
    for seed in range(2):
        (recordings / f"calls{seed}.jsonl").write_text(_recording(seed))
        (recordings / f"mooncake{seed}.jsonl").write_text(_blocks(seed))
    (recordings / "other.json").write_text("{}")
    (tmp_path / "usage.csv").write_text(USAGE)
    return recordings


@pytest.mark.parametrize(
    "given",
    [
        ["in", "usage.csv", "--json"],
        ["in", "usage.csv", "--validate"],
        ["in", "usage.csv", "missing.jsonl", "in/calls0.jsonl", "--strict"],
        ["in", "--rules", "vllm", "--json"],
        ["in", "--rules", "vllm", "--capacity", "60", "--json"],
        ["in", "--rules", "vllm", "--set", "ttl=20", "--json"],
        ["in", "--rules", "vllm", "--set", "ttl=20", "--set", "sliding=false", "--json"],
        ["in", "--rules", "sglang", "--set", "granularity=512", "--json"],
        ["in", "--set", "no_such=1"],
        ["usage.csv", "--json"],
    ],
    ids=" ".join,
)
def test_any_number_of_shares_gives_the_same_report(run: Run, folder: Path, given: list[str]) -> None:
    assert folder.is_dir()
    whole = run("estimate", *given)
    assert whole.out or whole.code
    for shards in (3, 8):
        assert run("estimate", *given, "--shards", str(shards)) == whole


def test_the_rows_that_are_put_together_say_something(run: Run, folder: Path) -> None:
    assert folder.is_dir()
    found = json.loads(run("estimate", "in", "--rules", "vllm", "--shards", "3", "--json").out)
    rows = [row for row in found["requests"] if "mooncake" in row["source"]]
    assert len(rows) == 240
    assert sum(row["read_estimated"] > 0 for row in rows) > 100
    assert any(row["read_estimated"] < row["ceiling_estimated"] for row in rows)


@pytest.mark.parametrize("model", ["unheard-of", "nor-of-this", "or-that"])
def test_what_cannot_be_evaluated_is_so_in_any_share(run: Run, tmp_path: Path, model: str) -> None:
    (tmp_path / "log.jsonl").write_text(_request(model, CHAT, ["hi"], status=200) + "\n")
    for shards in range(1, 4):
        ran = run("estimate", "log.jsonl", "--shards", str(shards))
        assert ran.code == 3
        assert ran.err.count("cannot evaluate") == 1


@pytest.mark.parametrize("text", [_recording(3), _blocks(3), ""], ids=["calls", "blocks", "nothing"])
def test_standard_input_is_read_once_and_kept(run: Run, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    def piped(*more: str) -> object:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return run("estimate", "-", "--json", *more)

    assert piped("--shards", "3") == piped()


def test_so_is_a_pipe_with_a_name(run: Run, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    (tmp_path / "file").write_text(_recording(4))
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(_recording(4),), daemon=True)
    writer.start()
    shared = run("estimate", "pipe", "--shards", "2", "--json")
    writer.join()
    assert shared.out.replace("pipe", "file") == run("estimate", "file", "--json").out


def test_an_input_that_changes_between_passes_is_one_sentence(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = folder / "calls0.jsonl"

    def growing(number: int, of: int) -> Share:
        if number:
            log.write_text(_recording(0) + _request("gpt-4o", CHAT, ["more"]) + "\n")
        return Share(number, of)

    monkeypatch.setattr("coldturn.replay.cli.estimate_shards.Share", growing)
    ran = run("estimate", str(log), "--shards", "2", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert "changed between two passes" in ran.err
    assert "[input-changed]" in ran.err


@pytest.mark.parametrize("shards", ["0", "257", "many"])
def test_a_number_of_shares_that_cannot_be(run: Run, folder: Path, shards: str) -> None:
    ran = run("estimate", str(folder), "--shards", shards)
    assert ran.code == 2
    assert "--shards" in ran.err
