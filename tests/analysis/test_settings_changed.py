"""Settings that differ between a request and its parent are told, also where no rules judge them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.replay.cli.app import main
from coldturn.traces.readers import read_exchanges

HISTORY = [{"role": "user", "content": "question " * 40}]


def body(turns: int, **settings: object) -> dict[str, Any]:
    later = [{"role": "user", "content": f"more {turn}"} for turn in range(turns)]
    return {"model": "m", "max_tokens": 10, "system": "S" * 400, "messages": HISTORY + later, **settings}


LOG = [
    body(0),
    body(1, model="n", thinking={"type": "enabled"}),
    body(2, model="n", thinking={"type": "enabled"}, temperature=0.5, max_tokens=99, stream=True),
    body(3, model="n", thinking={"type": "disabled"}),
]
CONTENT = "\n".join(json.dumps(one) for one in LOG).encode()


def test_they_are_listed_beside_the_breaks() -> None:
    (lineage,) = explain(read_exchanges(CONTENT, name="log")).as_json()["lineages"]
    assert lineage["settings_changed"] == [
        {"request": 1, "parent": 0, "keys": ("model", "thinking")},
        {"request": 3, "parent": 2, "keys": ("thinking",)},
    ]
    (found,) = lineage["breaks"]
    assert (found["request"], found["cause"], found["zone"], found["rules"]) == (
        1,
        "model_changed",
        "settings",
        None,
    )


def test_without_breaks_they_are_no_clean_bill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(CONTENT)
    with pytest.raises(SystemExit):
        main(["explain", str(path)])
    out = capsys.readouterr().out
    assert "model_changed  broken  request 1 after 0" in out
    assert "settings differ, no rules to judge them by: thinking  request 3\n" in out
    for name, one in (("a.json", LOG[0]), ("b.json", LOG[1])):
        (tmp_path / name).write_text(json.dumps(one))
    with pytest.raises(SystemExit):
        main(["diff", str(tmp_path / "a.json"), str(tmp_path / "b.json")])
    assert "model_changed  broken" in capsys.readouterr().out
