"""A ledger's hashes: equal exactly where prompts are equal."""

from __future__ import annotations

import json
from typing import Any

from xxhash import xxh3_128_hexdigest

from coldturn.reference.prefix.ledger import ZONES, Ledger, ledger_of
from coldturn.reference.prefix.model import Labels, Zone
from coldturn.reference.prefix.request import read_request

LABELS = Labels(zones={"$.messages[1]": Zone.TAIL, "$.messages[3]": Zone.TRANSIENT})


def ledger(*, clock: str = "10:01", memory: str = "likes tea", question: str = "hi", **more: Any) -> Ledger:  # noqa: ANN401 - any JSON
    body = {
        "model": "m",
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "messages": [
            {"role": "system", "content": "# Rules\n\nbe brief\n"},
            {"role": "system", "content": memory},
            {"role": "user", "content": question},
            {"role": "user", "content": clock},
        ],
        **more,
    }
    return ledger_of(read_request(json.dumps(body).encode(), labels=LABELS))


def hashes(one: Ledger) -> dict[Zone, tuple[str, str]]:
    return {zone.zone: (zone.hash, zone.prefix_hash) for zone in one.zones}


def same(one: Ledger, other: Ledger) -> tuple[list[Zone], list[Zone]]:
    """Zones with equal hashes, and zones with equal prefix hashes."""
    left, right = hashes(one), hashes(other)
    return (
        [zone for zone in ZONES if left[zone][0] == right[zone][0]],
        [zone for zone in ZONES if left[zone][1] == right[zone][1]],
    )


def test_five_zones_always_in_order_and_bytes_add_up() -> None:
    found = ledger()
    assert tuple(one.zone for one in found.zones) == ZONES
    assert sum(one.bytes for one in found.zones) == found.content_bytes
    assert sum(one.bytes for one in found.segments) == found.content_bytes
    assert sum(one.segment_count for one in found.zones) == len(found.segments)
    assert all(len(one.hash) == len(one.prefix_hash) == 32 for one in found.zones)
    empty = ledger_of(read_request(b'{"input":[]}'))
    assert [(one.bytes, one.segment_count) for one in empty.zones] == [(0, 0)] * 5


def test_a_change_moves_the_hash_of_its_zone_and_every_prefix_behind_it() -> None:
    base = ledger()
    assert same(base, ledger()) == (list(ZONES), list(ZONES))
    assert same(base, ledger(clock="11:01")) == (list(ZONES[:4]), list(ZONES[:4]))
    assert same(base, ledger(question="hello")) == ([*ZONES[:3], ZONES[4]], list(ZONES[:3]))
    assert same(base, ledger(memory="likes tee")) == ([*ZONES[:2], *ZONES[3:]], list(ZONES[:2]))


def test_segments_are_named_and_hashed() -> None:
    found = ledger()
    assert [(one.key, one.kind, one.zone) for one in found.segments] == [
        ("tools[0] f", "tool", Zone.TOOLS),
        ("messages[0] system # Rules", "text", Zone.SYSTEM),
        ("messages[0] system # Rules", "text", Zone.SYSTEM),
        ("messages[1] system", "text", Zone.TAIL),
        ("messages[2] user", "text", Zone.HISTORY),
        ("messages[3] user", "text", Zone.TRANSIENT),
    ]
    assert all(len(one.digest) == 16 for one in found.segments)


def test_the_first_segment_of_a_block_covers_its_header() -> None:
    one, other = (
        ledger_of(read_request(b'{"messages":[{"role":"%b","content":"a\\n\\nb"}]}' % role)).segments
        for role in (b"user", b"assistant")
    )
    assert one[0].digest != other[0].digest
    assert one[1].digest == other[1].digest


def test_a_block_without_content_has_a_segment() -> None:
    [only] = ledger_of(read_request(b'{"messages":[{"role":"assistant","content":null}]}')).segments
    assert only.bytes == 0


def test_the_settings_hash_is_of_the_settings_whatever_their_order_or_spelling() -> None:
    assert ledger(top_p=1).settings_hash != ledger(top_p=2).settings_hash
    first = ledger_of(read_request(b'{"messages":[],"a":1,"b":[ 2 ],"model":"m"}'))
    second = ledger_of(read_request(b'{"b":[2],"model":"m","messages":[],"a":1}'))
    assert first.settings_hash == second.settings_hash
    assert first.wire_hash != second.wire_hash


def test_the_wire_hash_is_of_the_body_as_sent() -> None:
    body = b'{"messages":[ ]}'
    assert ledger_of(read_request(body)).wire_hash == xxh3_128_hexdigest(body)


def test_a_transient_block_in_mid_history_is_part_of_the_prefix() -> None:
    """With the suffix inside the last user message, the turn's own calls stand behind it."""

    def found(suffix: str) -> Ledger:
        parts = [{"type": "text", "text": "question"}, {"type": "text", "text": suffix}]
        body = {"messages": [{"role": "user", "content": parts}, {"role": "assistant", "content": "a"}]}
        labels = Labels(zones={"$.messages[0].content[1]": Zone.TRANSIENT})
        return ledger_of(read_request(json.dumps(body).encode(), labels=labels))

    own = hashes(found("10:01"))
    assert own[Zone.TRANSIENT][1] == own[Zone.HISTORY][1]
    zones, prefixes = same(found("10:01"), found("10:02"))
    assert zones == list(ZONES[:4])
    assert prefixes == list(ZONES[:3])
