"""The table: versions, soft delete, first-seen bytes, tickets."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.reference.catalogue import CatalogueStore, Commit, Definition
from coldturn.reference.catalogue.definition import compact_json, define


def listing(**descriptions: str) -> list[Definition]:
    return [
        define(name, description=text, input_schema={"type": "object"}) for name, text in descriptions.items()
    ]


def refresh(store: CatalogueStore, definitions: list[Definition], connection: str = "a") -> Commit:
    return store.commit(connection, definitions, ticket=store.ticket(connection), at_ns=1)


@pytest.mark.requirement("CAT-1")
def test_each_refresh_mints_a_version_also_with_nothing_changed() -> None:
    store = CatalogueStore()
    first, second = refresh(store, listing(x="X", y="Y")), refresh(store, listing(x="X", y="Y"))
    assert (first.version, first.previous_version, first.added) == (1, 0, ("x", "y"))
    assert (second.version, second.added, second.removed, second.changed) == (2, (), (), ())
    assert second.hash == first.hash
    assert [(t.added_version, t.last_seen_version) for t in store.current("a").tools] == [(1, 2), (1, 2)]


@pytest.mark.requirement("CAT-1")
def test_an_edited_and_a_returning_tool_are_new_rows_and_old_versions_can_still_be_shown() -> None:
    store = CatalogueStore()
    refresh(store, listing(x="X", y="Y"))
    edited = refresh(store, listing(x="changed", y="Y"))
    gone = refresh(store, listing(x="changed"))
    back = refresh(store, listing(x="changed", y="Y"))
    assert (edited.changed, gone.removed, back.added) == (("x",), ("y",), ("y",))
    shown = {version: {t.name: t.description for t in store.at("a", version)} for version in (1, 2, 3, 4)}
    assert shown == {
        1: {"x": "X", "y": "Y"},
        2: {"x": "changed", "y": "Y"},
        3: {"x": "changed"},
        4: {"x": "changed", "y": "Y"},
    }
    assert [(t.name, t.added_version) for t in store.current("a").tools] == [("x", 2), ("y", 4)]


@pytest.mark.requirement("CAT-1")
def test_rows_cannot_be_deleted(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.db"
    store = CatalogueStore(path)
    refresh(store, listing(x="X"))
    other = sqlite3.connect(path)
    try:
        for statement in ("DELETE FROM tool", "DELETE FROM catalogue"):
            with pytest.raises(sqlite3.IntegrityError, match="never deleted"):
                other.execute(statement)
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    finally:
        other.close()
        store.close()


def test_a_commit_that_fails_leaves_the_last_good_version() -> None:
    store = CatalogueStore()
    refresh(store, listing(x="X"))
    twice = listing(y="Y") + listing(y="other")
    with pytest.raises(sqlite3.IntegrityError):
        refresh(store, twice)
    assert (store.current("a").version, [t.name for t in store.current("a").tools]) == (1, ["x"])


@pytest.mark.requirement("RES-8")
def test_the_bytes_first_seen_for_a_definition_are_kept_through_key_order_and_absence() -> None:
    store = CatalogueStore()
    one = {"type": "object", "properties": {"a": {"type": "string", "title": "A"}}}
    other = {"properties": {"a": {"title": "A", "type": "string"}}, "type": "object"}
    assert define("x", input_schema=one).body != define("x", input_schema=other).body
    refresh(store, [define("x", input_schema=one)])
    first = store.current("a").tools[0].body
    refresh(store, [define("x", input_schema=other)])
    assert store.current("a").tools[0].body == first
    refresh(store, [])
    refresh(store, [define("x", input_schema=other)])
    assert store.current("a").tools[0].body == first


@pytest.mark.requirement("CAT-4")
def test_a_refresh_that_started_earlier_cannot_overwrite_one_that_started_later() -> None:
    store = CatalogueStore()
    early, late = store.ticket("a"), store.ticket("a")
    assert store.commit("a", listing(new="N"), ticket=late, at_ns=2).version == 1
    stale = store.commit("a", listing(old="O"), ticket=early, at_ns=3)
    assert (stale.superseded, stale.version) == (True, 1)
    assert [t.name for t in store.current("a").tools] == ["new"]


@pytest.mark.requirement("CAT-4")
def test_eight_threads_leave_versions_without_gaps(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.db"
    CatalogueStore(path).close()
    minted: list[int] = []

    def work() -> None:
        store = CatalogueStore(path)
        for _ in range(5):
            commit = refresh(store, listing(x="X"))
            if not commit.superseded:
                minted.append(commit.version)
        store.close()

    threads = [Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = CatalogueStore(path)
    assert sorted(minted) == list(range(1, store.current("a").version + 1))
    store.close()


@pytest.mark.requirement("CAT-4")
def test_three_processes_leave_versions_without_gaps(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.db"
    CatalogueStore(path).close()
    program = (
        "import sys\n"
        "from coldturn.reference.catalogue import CatalogueStore\n"
        "from coldturn.reference.catalogue.definition import define\n"
        "store = CatalogueStore(sys.argv[1])\n"
        "for _ in range(20):\n"
        "    made = store.commit('a', [define('x', input_schema={})], ticket=store.ticket('a'), at_ns=1)\n"
        "    print(made.superseded or made.version)\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]  # noqa: S603 - ours
    lines = [line for worker in workers for line in worker.communicate()[0].split()]
    store = CatalogueStore(path)
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    assert len(lines) == 60
    minted = sorted(int(line) for line in lines if line != "True")
    assert minted == list(range(1, store.current("a").version + 1))
    store.close()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.requirement("RES-8")
@given(st.dictionaries(st.text(max_size=4), json_values, max_size=5), st.randoms())
def test_the_definition_hash_knows_no_key_order(schema: dict[str, object], random: object) -> None:
    keys = list(schema)
    random.shuffle(keys)  # type: ignore[attr-defined]
    shuffled = {key: schema[key] for key in keys}
    assert define("x", input_schema=schema).hash == define("x", input_schema=shuffled).hash
    changed = {**schema, "another key": 1}
    assert define("x", input_schema=changed).hash != define("x", input_schema=schema).hash


def test_a_lone_surrogate_stays_readable_json() -> None:
    assert compact_json({"a": "\ud800é"}) == b'{"a":"\\ud800\\u00e9"}'


@pytest.mark.requirement("CAT-7")
def test_two_connections_to_servers_of_the_same_name_share_nothing() -> None:
    store = CatalogueStore()
    refresh(store, listing(x="X"), "work")
    refresh(store, listing(x="other"), "private")
    assert [t.description for t in store.current("work").tools] == ["X"]
    assert [t.description for t in store.current("private").tools] == ["other"]
