"""Blocks by zone without making them, held against making them all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.reference.prefix.model import Labels, Surface, Zone
from coldturn.reference.prefix.request import read_request

BODY = json.dumps(
    {
        "model": "m",
        "tools": [{"name": name, "input_schema": {"type": "object"}} for name in "abc"],
        "system": [{"type": "text", "text": "rules"}, {"type": "text", "text": "memory"}],
        "messages": [
            {
                "role": role,
                "content": [{"type": "text", "text": f"{role} {turn}"}, {"type": "text", "text": "x"}],
            }
            for turn in range(4)
            for role in ("user", "assistant")
        ],
    }
).encode()
PATHS = [
    *(f"$.tools[{index}]" for index in range(4)),
    *(f"$.system[{index}]" for index in range(3)),
    *(f"$.messages[{index}]" for index in range(9)),
    *(f"$.messages[{index}].content[{part}]" for index in range(8) for part in range(2)),
    "$.nothing[0]",
]


@given(
    zones=st.dictionaries(st.sampled_from(PATHS), st.sampled_from(list(Zone)), max_size=12),
    wanted=st.frozensets(st.sampled_from(list(Zone))),
)
def test_labels_move_blocks_between_zones(zones: dict[str, Zone], wanted: frozenset[Zone]) -> None:
    labels = Labels(zones=zones)
    lazy = read_request(BODY, surface=Surface.MESSAGES, labels=labels)
    every = read_request(BODY, surface=Surface.MESSAGES, labels=labels)
    expected = [index for index, block in enumerate(tuple(every.lazy_blocks)) if block.zone in wanted]
    assert lazy.lazy_blocks.within(wanted) == expected


@pytest.mark.parametrize(("zone", "count"), [(Zone.TOOLS, 3), (Zone.SYSTEM, 2), (Zone.HISTORY, 16)])
def test_without_labels_the_dialect_decides(zone: Zone, count: int) -> None:
    request = read_request(BODY, surface=Surface.MESSAGES)
    assert len(request.lazy_blocks.within({zone})) == count
    assert request.lazy_blocks.every is None
