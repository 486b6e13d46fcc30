"""The entry models by themselves: against a naive cache and against hand-counted examples."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.analysis.entries.ceiling import Ceiling
from coldturn.analysis.entries.prefix import BlockCache, Grid, PrefixCache
from coldturn.analysis.entries.request import CacheRequest, Partial, Reading, Simulator, Write, chained
from coldturn.analysis.entries.resources import ResourceCache
from coldturn.analysis.entries.slots import SlotCache, SlotPrefixes, SlotRules
from coldturn.analysis.entries.store import EntryStore, TouchOrder
from coldturn.analysis.entries.units import UnitCache, UnitRules
from coldturn.analysis.entries.written import WrittenEntries
from coldturn.analysis.estimates.registry import shipped
from coldturn.analysis.estimates.simulate import simulator


class Naive:
    """Blocks in a list, least recently used first; slow and plain."""

    def __init__(self, ttl: float | None, capacity: int | None, *, tail_first: bool) -> None:
        self.ttl, self.capacity, self.tail_first = ttl, capacity, tail_first
        self.blocks: list[tuple[int, float]] = []

    def observe(self, ids: Sequence[int], now: float) -> int:
        if self.ttl is not None:
            self.blocks = [(key, used) for key, used in self.blocks if now - used <= self.ttl]
        held = {key for key, _ in self.blocks}
        known = 0
        while known < len(ids) and ids[known] in held:
            known += 1
        for key in reversed(ids) if self.tail_first else ids:
            self.blocks = [pair for pair in self.blocks if pair[0] != key]
            self.blocks.append((key, now))
        if self.capacity is not None:
            self.blocks = self.blocks[-self.capacity :]
        return known


traces = st.lists(
    st.tuples(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.floats(0, 20)), min_size=1, max_size=25
)


def _chains(trace: Sequence[tuple[list[int], float]]) -> list[tuple[list[int], float]]:
    """Block hashes that stand for all before them, and rising times."""
    now, found = 0.0, []
    for digits, gap in trace:
        now += gap
        found.append((chained(digits, [1] * len(digits))[0], now))
    return found


@given(
    trace=traces,
    ttl=st.one_of(st.none(), st.floats(0.5, 60)),
    capacity=st.one_of(st.none(), st.integers(5, 12)),
    order=st.sampled_from(TouchOrder),
)
def test_the_store_does_what_a_plain_list_would(
    trace: list[tuple[list[int], float]], ttl: float | None, capacity: int | None, order: TouchOrder
) -> None:
    naive = Naive(ttl, capacity, tail_first=order is TouchOrder.TAIL_FIRST)
    blocks = BlockCache(EntryStore(ttl=ttl, capacity=capacity, touch=order))
    prefix = PrefixCache(Grid(), EntryStore(ttl=ttl, capacity=capacity, touch=order))
    for ids, now in _chains(trace):
        expected = naive.observe(ids, now)
        assert blocks.observe(ids, now) == expected
        assert prefix.observe(CacheRequest(ids, range(1, len(ids) + 1), now)).read == expected


@given(trace=traces, capacity=st.integers(5, 12))
def test_no_cache_reads_more_than_the_ceiling(trace: list[tuple[list[int], float]], capacity: int) -> None:
    ceiling, unbounded = Ceiling(), BlockCache(EntryStore())
    bounded = BlockCache(EntryStore(capacity=capacity, touch=TouchOrder.TAIL_FIRST))
    unique = set()
    for ids, now in _chains(trace):
        most = ceiling.observe(ids)
        unique.update(ids)
        assert bounded.observe(ids, now) <= most == unbounded.observe(ids, now)
    assert len(ceiling) == len(unique)


@pytest.mark.parametrize(("tokens", "read"), [(16, 0), (17, 16), (32, 16), (33, 32), (34, 32), (1, 0)])
def test_vllm_reads_full_blocks_and_computes_the_last_token(tokens: int, read: int) -> None:
    cache = simulator(shipped().named("vllm"))
    keys, ends = chained(range(tokens), [1] * tokens)
    assert cache.observe(CacheRequest(keys, ends)) == Reading(0)
    assert cache.observe(CacheRequest(keys, ends)) == Reading(read)
    assert read == (tokens - 1) // 16 * 16


def test_sglang_reads_to_the_token() -> None:
    cache = simulator(shipped().named("sglang"))
    for size, read in ((50, 0), (80, 50), (80, 79), (60, 59)):
        keys, ends = chained(range(size), [1] * size)
        assert cache.observe(CacheRequest(keys, ends)).read == read


def test_a_capacity_counts_the_rules_blocks_of_a_request_of_segments() -> None:
    rules = shipped().named("vllm")
    cache = simulator(rules, rules.parameters.model_copy(update={"capacity": 4}))
    assert cache.observe(CacheRequest(["a", "b"], [32, 64])).read == 0
    assert cache.observe(CacheRequest(["a", "b"], [32, 64])).read == 48
    assert cache.observe(CacheRequest(["c"], [32])).read == 0
    # The tail went first: of the 64 tokens the front 32 are left.
    assert cache.observe(CacheRequest(["a", "b"], [32, 64])).read == 32


def _f1() -> Simulator:
    return PrefixCache(Grid(), EntryStore(ttl=300))


def _f2() -> Simulator:
    return WrittenEntries(minimum=0, ttl=300, long_ttl=None, store=EntryStore(ttl=300))


def _f3() -> Simulator:
    return UnitCache(UnitRules(), EntryStore(ttl=300))


def _ask(cache: Simulator, started: float, readable: float | None = None, ttl: float | None = None) -> int:
    asked = CacheRequest("a", [9], started, readable, probes=(0,), writes=(Write(0, ttl),), ttl=ttl)
    return cache.observe(asked).read


@pytest.mark.parametrize("cache", [_f1, _f2, _f3])
def test_requests_in_parallel_all_miss_until_the_first_answer_begins(cache: type[Simulator]) -> None:
    held = cache()
    assert [_ask(held, started, 10.0 + started) for started in (0.0, 1.0, 9.9)] == [0, 0, 0]
    assert _ask(held, 10.0) == 9


@pytest.mark.parametrize("cache", [_f1, _f2, _f3])
def test_a_lifetime_slides_and_counts_from_the_start(cache: type[Simulator]) -> None:
    held = cache()
    _ask(held, 0.0, readable=200.0)
    assert _ask(held, 300.0) == 9
    assert _ask(held, 600.0) == 9
    assert _ask(held, 900.5) == 0


@pytest.mark.parametrize("cache", [_f1, _f2])
def test_a_request_can_ask_for_a_longer_lifetime(cache: type[Simulator]) -> None:
    held = cache()
    _ask(held, 0.0, ttl=3_600.0)
    assert _ask(held, 3_600.0) == 9
    assert _ask(held, 7_201.0) == 0


def test_a_lifetime_that_does_not_slide_ends_in_spite_of_reads() -> None:
    held = PrefixCache(Grid(), EntryStore(ttl=300, sliding=False))
    assert [_ask(held, started) for started in (0.0, 200.0, 301.0, 600.0)] == [0, 9, 0, 9]


def test_a_partial_prefix_is_read_while_the_request_it_comes_from_is_held() -> None:
    def asked(held: Simulator, now: float) -> int:
        return held.observe(CacheRequest("ax", [10, 20], now, partial=Partial("b", 14))).read

    held = _f1()
    held.observe(CacheRequest("ab", [10, 20], 0.0))
    assert asked(held, 300.0) == 14
    held = _f1()
    held.observe(CacheRequest("ab", [10, 20], 0.0))
    held.observe(CacheRequest("ac", [10, 20], 200.0))
    assert asked(held, 400.0) == 10


def test_deepseek_reads_the_previous_prompt_and_its_answer_in_steps() -> None:
    def second(model: str, *, answered: bool = True) -> int:
        rules = shipped().named("deepseek")
        cache = simulator(rules, rules.parameters_for(model))
        first = CacheRequest(["p1"], [1_528], answer_tokens=86)
        assert cache.observe(first).read == 0
        answers = frozenset({0}) if answered else frozenset[int]()
        return cache.observe(CacheRequest(["p1", "a1", "p2"], [1_528, 1_620, 1_853], answers=answers)).read

    assert second("deepseek-chat") == (1_528 + 86) // 64 * 64 == 1_600
    assert second("deepseek-reasoner") == 1_528 // 64 * 64 == 1_472
    assert second("deepseek-v4-flash") == (1_528 + 86) // 128 * 128 == 1_536
    assert second("deepseek-chat", answered=False) == 1_472


def test_a_unit_is_read_as_a_whole_or_not_at_all() -> None:
    cache = UnitCache(UnitRules(common_prefixes=False), EntryStore())
    cache.observe(CacheRequest("abc", [100, 200, 300]))
    assert cache.observe(CacheRequest("abx", [100, 200, 300])).read == 0
    assert cache.observe(CacheRequest("abcd", [100, 200, 300, 400])).read == 300


def test_a_prefix_that_two_requests_had_in_common_becomes_a_unit() -> None:
    cache = UnitCache(UnitRules(), EntryStore())
    asked = [CacheRequest(["s", end], [640, 900]) for end in "abc"]
    assert [cache.observe(one).read for one in asked] == [0, 0, 640]


def test_an_explicit_resource_lives_for_its_own_time_and_is_paid_by_the_hour() -> None:
    cache = ResourceCache(minimum=1_024)
    assert cache.make("small", 1_000, 0.0) is None
    made = cache.make("big", 3_512, 0.0)
    assert made is not None

    def ask(name: str | None, now: float) -> int:
        return cache.observe(CacheRequest("ab", [3_512, 3_520], now, resource=name)).read

    assert [ask("big", 3_600.0), ask("big", 3_601.0), ask("small", 1.0), ask(None, 1.0)] == [3_512, 0, 0, 0]
    assert made.storage() == 3_512
    assert made.storage(until=1_800.0) == 1_756
    cache.make("big", 3_512, 1_800.0, ttl=7_200.0)
    assert ask("big", 9_000.0) == 3_512


def test_one_slot_keeps_the_latest_prompt_only() -> None:
    cache = SlotCache(SlotRules())
    assert [cache.observe(text).read for text in (b"hello", b"hello", b"help", b"world", b"hello")] == [
        0,
        4,
        3,
        0,
        0,
    ]


def test_of_several_slots_the_most_similar_is_taken_else_the_least_recent() -> None:
    cache = SlotCache(SlotRules(slots=2))
    a, b, c = b"a" * 100, b"b" * 100, b"c" * 100
    assert [cache.observe(text).read for text in (a, b, a + a, b + b)] == [0, 0, 100, 100]
    assert cache.observe(c).read == 0  # takes the place of a
    assert cache.observe(b + b).read == 199
    assert cache.observe(a).read == 0


def test_a_slot_keeps_the_answer_too() -> None:
    cache = SlotCache(SlotRules())
    cache.observe([1, 2, 3], answer=[4, 5])
    assert cache.observe([1, 2, 3, 4, 5, 6, 7]).read == 5


@given(
    prompts=st.lists(
        st.binary(min_size=1, max_size=12).map(lambda text: bytes(b % 3 for b in text)), max_size=12
    ),
    slots=st.integers(1, 3),
)
def test_slots_of_keys_agree_with_slots_of_tokens(prompts: list[bytes], slots: int) -> None:
    tokens, keys = SlotCache(SlotRules(slots)), SlotPrefixes(SlotRules(slots))
    for prompt in prompts:
        links, ends = chained(prompt, [1] * len(prompt))
        assert tokens.observe(prompt) == keys.observe(CacheRequest(links, ends))


def test_a_prefix_of_exactly_the_minimum_is_read() -> None:
    grid = Grid(minimum=1_024, granularity=128)
    assert [grid.read(common, 5_000) for common in (1_023, 1_024, 1_151, 1_152)] == [0, 1_024, 1_024, 1_152]


def test_a_longer_match_elsewhere_counts_more_than_a_partial_one() -> None:
    held = _f1()
    held.observe(CacheRequest("abc", [10, 20, 30], 0.0))
    held.observe(CacheRequest("ax", [10, 20], 1.0))
    assert held.observe(CacheRequest("abd", [10, 20, 40], 2.0, partial=Partial("x", 14))).read == 20


def test_of_two_requests_on_their_way_the_later_start_decides_on_the_lifetime() -> None:
    held = _f1()
    held.observe(CacheRequest("a", [9], 0.0, readable=10.0))
    held.observe(CacheRequest("a", [9], 5.0, readable=6.0))
    assert held.observe(CacheRequest("ab", [9, 12], 305.0)).read == 9


def test_a_key_that_came_late_is_as_old_as_its_request() -> None:
    held = _f1()
    held.observe(CacheRequest("xy", [9, 18], 0.0, readable=250.0))
    held.observe(CacheRequest("z", [9], 100.0))
    assert held.observe(CacheRequest("x", [9], 260.0)).read == 9
    assert held.observe(CacheRequest("xy", [9, 18], 350.0)).read == 9


def test_an_hour_entry_that_is_marked_for_five_minutes_keeps_its_hour() -> None:
    held = _f2()
    _ask(held, 0.0, ttl=3_600.0)
    assert _ask(held, 10.0, ttl=300.0) == 9
    assert _ask(held, 2_000.0, ttl=300.0) == 9
    held = _f2()
    _ask(held, 0.0, ttl=3_600.0)
    assert _ask(held, 4_000.0, ttl=300.0) == 0
    assert _ask(held, 4_301.0, ttl=300.0) == 0


def test_reading_an_entry_starts_its_lifetime_anew_though_it_is_not_written_again() -> None:
    held = _f2()
    held.observe(CacheRequest("a", [9], 0.0, probes=(0,), writes=(Write(0),)))
    held.observe(CacheRequest("ab", [9, 12], 290.0, probes=(0, 1), writes=(Write(1),)))
    fork = CacheRequest("ac", [9, 12], 580.0, probes=(0, 1), writes=(Write(1),))
    assert held.observe(fork) == Reading(9, 3)


def test_a_slot_that_has_too_little_in_front_is_not_taken() -> None:
    cache = SlotCache(SlotRules(slots=2))
    for text in (b"a" * 100, b"b" * 100):
        cache.observe(text)
    # 5 of 100 are too few: the least recent slot is taken, which holds a's.
    assert cache.observe(b"b" * 5 + b"c" * 95).read == 0
    assert cache.observe(b"b" * 100).read == 99


def test_slots_of_keys_read_a_partial_prefix() -> None:
    cache = SlotPrefixes(SlotRules())
    cache.observe(CacheRequest("ab", [10, 20]))
    assert cache.observe(CacheRequest("ax", [10, 20], partial=Partial("b", 14))).read == 14
    assert cache.observe(CacheRequest("ay", [10, 20], partial=Partial("b", 14))).read == 10
