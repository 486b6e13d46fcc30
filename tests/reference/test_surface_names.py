"""Exposed names: accepted everywhere, unique, and the same whatever else is there."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.reference.surface.lines import first_line, hint, one_line
from coldturn.reference.surface.names import ExposedNames, exposed_name

ACCEPTED = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
servers = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}", fullmatch=True)
pairs = st.lists(st.tuples(servers, st.text(max_size=80)), unique=True, max_size=20)


@pytest.mark.requirement("TIER-8")
@given(pairs)
def test_names_are_accepted_everywhere_and_unique(given_pairs: list[tuple[str, str]]) -> None:
    names = ExposedNames(("bash",))
    given_names = [names.of(*pair) for pair in given_pairs]
    assert all(ACCEPTED.match(name) for name in given_names)
    assert len(set(given_names)) == len(given_names)
    assert [names.of(*pair) for pair in reversed(given_pairs)] == given_names[::-1]


@pytest.mark.requirement("TIER-8")
@given(servers, st.text(max_size=80))
def test_a_name_depends_on_its_pair_alone(server: str, tool: str) -> None:
    assert ExposedNames().of(server, tool) == exposed_name(server, tool)


@pytest.mark.requirement("TIER-8")
def test_what_does_not_fit_gets_a_hash_and_two_that_meet_part() -> None:
    assert exposed_name("fs", "read_file") == "fs__read_file"
    assert exposed_name("fs", "read.file") != exposed_name("fs", "read/file")
    assert exposed_name("fs", "read.file").startswith("fs__read_file_")
    assert exposed_name("fs", "x" * 60) == "fs__" + "x" * 60
    assert len(exposed_name("fs", "x" * 61)) == 64
    names = ExposedNames(("taken__name",))
    assert names.of("a", "b__c") == "a__b__c"
    assert re.fullmatch(r"a__b__c_[0-9a-f]{8}", names.of("a__b", "c"))
    assert re.fullmatch(r"taken__name_[0-9a-f]{8}", names.of("taken", "name"))
    assert names.facade("fs") == "fs__use"
    assert names.of("fs", "use") != "fs__use"


@given(st.text(), st.integers(1, 40))
def test_a_line_is_one_line_and_within_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
    if len(" ".join(text.split())) <= limit:
        assert line == " ".join(text.split())


def test_hints_take_the_first_line_that_says_something() -> None:
    assert first_line("\n  \n Reads  a file.\nMore") == "Reads a file."
    assert first_line("") == ""
    assert hint("Reads a file.\nMore", 8) == "Reads a…"
