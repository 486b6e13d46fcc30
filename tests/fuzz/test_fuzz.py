"""A few examples of every fuzz target; ``make fuzz`` goes on for ten minutes."""

from __future__ import annotations

from collections import Counter

import pytest

from fuzz import endless
from fuzz.endless import fuzz_once, main
from fuzz.targets import TARGETS, Target, check_recording, examples

EXAMPLES = 40


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_nothing_crashes_hangs_or_names_a_wrong_place(target: Target) -> None:
    done: Counter[str] = Counter()
    fuzz_once(target, 1, EXAMPLES, done)
    assert done[target.name] >= EXAMPLES


def test_the_examples_of_every_reader_are_there() -> None:
    found = list(examples())
    assert len(found) > 15
    for content in found:
        check_recording(content)


def test_a_failure_is_told_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(example: object) -> None:
        raise ValueError(f"no {example}")

    good = TARGETS[2]
    monkeypatch.setattr(endless, "TARGETS", (Target("bad", good.inputs, fails), good))
    monkeypatch.setattr(endless, "ROUND", 3)
    assert main(["0.2"]) == 1
    told = capsys.readouterr()
    assert "bad failed with seed" in told.err
    assert "segments" in told.out
    assert "FAILED (seed" in told.out
