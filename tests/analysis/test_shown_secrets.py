"""Keys and passwords are in no report, wherever they stand in the requests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.verdicts.findings import placeless
from coldturn.analysis.verdicts.model import Named
from coldturn.reference.prefix.model import Confidence, Zone
from coldturn.reference.tokens import EstimatedTokens
from coldturn.traces.readers import read_exchanges

SYSTEM = "You are careful.\n\n" + "Name your sources, and say so when you have none.\n" * 40
KEY = "sk-ant-api03-{}AbCdEfGhIjKlMnOp1234567890qRsTuVwXyZ"


def reported(*values: dict[str, Any], context: int = 80) -> dict[str, Any]:
    lines = b"\n".join(json.dumps(value).encode() for value in values)
    return explain(read_exchanges(lines, name="in"), PairOptions(context=context)).as_json()


def chat(*users: str, system: str = SYSTEM, **more: object) -> dict[str, Any]:
    said = [{"role": "user", "content": user} for user in users]
    messages = [{"role": "system", "content": system}, *said]
    return {"model": "m", "messages": messages, **more}


@pytest.mark.parametrize("context", [0, 1, 20, 80, 81, 300, 5000])
@pytest.mark.parametrize("behind", ["", " and more of it."])
def test_a_key_in_the_text_is_in_no_report(context: int, behind: str) -> None:
    texts = [f"{SYSTEM}key: {KEY.format(one)}{behind}" for one in ("XY", "XZ")]
    report = reported(chat("a", system=texts[0]), chat("a", "b", system=texts[1]), context=context)
    (found,) = report["lineages"][0]["breaks"]
    assert not any(part in json.dumps(report) for part in ("XY", "XZ", "CdEf", "uVwX"))
    assert found["was_changed"][:1] == found["now_changed"][:1] == (((0, 1),) if context else ())
    assert len(found["was"]) <= context
    assert found["was"][:20] == "*" * min(context, 20)


def test_a_key_in_a_setting_is_in_no_report() -> None:
    was, now = (f'{{"thinking":true,"authorization":"token-{one}-of-mine"}}' for one in (1, 2))
    named = Named("thinking_changed", Verdict.BROKEN, Confidence.OBSERVED, "differs", was=was, now=now)
    found = placeless(None, named, Zone.SETTINGS, EstimatedTokens(0), PairOptions(context=45))
    assert found.was == found.now == ('{"thinking":true,"authorization":"' + "*" * 15 + '"}')[:45]
