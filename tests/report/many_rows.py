"""Thousands of rows, made without requests: conversations that grow, with a break now and then."""

from __future__ import annotations

from coldturn.analysis.report.model import Columns, Conversation, ReportData, Row, View, ViewKind, packed
from coldturn.analysis.report.parts import Piece

HISTORY = 50
"""Messages of the last request of each conversation."""


def many_rows(count: int) -> ReportData:
    """A report of `count` requests, a multiple of `HISTORY`."""
    data = ReportData()
    view = View("many", ViewKind.RECORDED)
    for number in range(count):
        conversation, turn = divmod(number, HISTORY)
        if turn == 0:
            view.conversations.append(Conversation(f"c{conversation}", "many.jsonl", requests=HISTORY))
        view.rows.append(_row(data, number, conversation, turn))
    data.views.append(view)
    return data


def _row(data: ReportData, number: int, conversation: int, turn: int) -> Row:
    clock = turn // 10
    pieces = [
        Piece(b"tools", 4_000, "tools", "tools[0] search", "tool"),
        Piece(b"%d %d" % (conversation, clock), 3_000, "system", "instructions", "text"),
        *(
            Piece(b"%d.%d" % (conversation, at), 400 + 37 * at, "history", f"input[{at}] user", "text")
            for at in range(turn + 1)
        ),
    ]
    size = sum(piece.bytes for piece in pieces)
    before = size - pieces[-1].bytes
    broken = turn > 0 and turn % 10 == 0
    common = None if turn == 0 else 4_500 if broken else before
    expired = turn % 10 == 5
    lost = before - 4_500
    finding = {
        "cause": "clock_in_prefix", "verdict": "broken", "zone": "system", "segment": "instructions",
        "confidence": "observed", "lost_bytes": lost, "lost_tokens_estimated": lost // 4,
    }  # fmt: skip
    late = {
        "cause": "ttl_expired", "verdict": "ttl_suspected", "zone": "none", "segment": None,
        "confidence": "inferred", "lost_bytes": 0, "lost_tokens_estimated": 1_000,
        "evidence": "7 minutes after the request before it",
    }  # fmt: skip
    return Row(
        source="many.jsonl",
        number=number,
        entry=number,
        conversation=conversation,
        parent=None if turn == 0 else number - 1,
        turn=turn,
        step=0,
        started=1_790_000_000.0 + number,
        bytes=size,
        common=common,
        exact=True,
        tokens=Columns(
            input_estimated=size // 4, ceiling_estimated=(common or 0) // 4, read_estimated=(common or 0) // 4
        ),
        parts=packed(list(data.parts.ids(pieces))),
        finding=finding if broken else late if expired else None,
        rules="longest-prefix-1024-128",
    )
