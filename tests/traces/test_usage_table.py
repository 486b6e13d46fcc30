"""Tables of usage numbers in every shape, and rows that are none."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from coldturn.traces.errors import NumbersOnlyError, UnrecognisedInputError
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.table_rows import NoRowsError
from coldturn.traces.formats.usage_columns import Column, MissingColumnError
from coldturn.traces.formats.usage_table import read_table
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_exchanges, read_records
from coldturn.traces.sniff import sniff
from coldturn.traces.usage_record import UsageRecord

HEADER = "path,call,model,prompt_tokens,cached_tokens,completion_tokens,t"
ROWS = ("a,0,deepseek-chat,1000,0,90,0.0", "a,1,deepseek-chat,1200,1088,80,4.5")


def table(*rows: str, header: str = HEADER, separator: str = ",") -> bytes:
    return "".join(f"{row}\n" for row in (header, *rows)).replace(",", separator).encode()


def records(content: bytes, columns: dict[Column, str] | None = None) -> list[UsageRecord]:
    found = list(read_table(io.BytesIO(content), "t", columns or {}))
    assert all(isinstance(one, UsageRecord) for one in found), found
    return [one for one in found if isinstance(one, UsageRecord)]


def errors(content: bytes) -> list[tuple[int, str]]:
    found = read_table(io.BytesIO(content), "t", {})
    return [(one.entry, one.message) for one in found if isinstance(one, EntryError)]


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_a_row_is_a_call(separator: str) -> None:
    content = table(*ROWS, separator=separator)
    assert sniff(io.BytesIO(content), "t") is InputKind.USAGE_TABLE
    first, second = records(content)
    assert second == UsageRecord(
        source="t",
        entry=1,
        conversation="a",
        call=1,
        model="deepseek-chat",
        input_tokens=second.input_tokens,
        cached_tokens=second.cached_tokens,
        output_tokens=second.output_tokens,
        started=4.5,
    )
    assert (second.input_tokens, second.cached_tokens, second.output_tokens) == (1_200, 1_088, 80)
    assert first.started == 0.0
    assert first.written_tokens is None


def test_lines_of_json_say_the_same() -> None:
    keys = HEADER.split(",")
    lines = [dict(zip(keys, row.split(","), strict=True)) for row in ROWS]
    as_numbers = [
        {**line, "prompt_tokens": int(line["prompt_tokens"]), "t": float(line["t"])} for line in lines
    ]
    for form in (lines, as_numbers):
        content = b"".join(json.dumps(one).encode() + b"\n" for one in form)
        assert sniff(io.BytesIO(content), "t") is InputKind.USAGE_TABLE
        assert records(content) == records(table(*ROWS))


def test_columns_by_option_and_inside_objects() -> None:
    line = {"run": "r", "nr": 7, "usage": {"in": 50, "details": {"hit": 32}}}
    content = json.dumps(line).encode() + b"\n"
    named = {
        Column.INPUT: "usage.in",
        Column.CACHED: "usage.details.hit",
        Column.CONVERSATION: "run+nr",
    }
    (only,) = records(content, named)
    assert (only.input_tokens, only.cached_tokens, only.conversation) == (50, 32, "r 7")


def test_a_providers_own_object_in_a_line_is_looked_into() -> None:
    usage = {"prompt_tokens": 90, "prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens": 5}
    (only,) = records(json.dumps({"response_model": "m", "usage": usage}).encode())
    assert (only.model, only.input_tokens, only.cached_tokens, only.output_tokens) == ("m", 90, 64, 5)


def test_the_input_of_anthropics_own_names_is_the_sum_of_three() -> None:
    header = "input_tokens,cache_read_input_tokens,cache_creation_input_tokens"
    (only,) = records(table("3,2000,100", header=header))
    assert (only.input_tokens, only.cached_tokens, only.written_tokens) == (2_103, 2_000, 100)
    (openai,) = records(table("3000,2000", header="input_tokens,cached_tokens"))
    assert openai.input_tokens == 3_000


def test_numbers_of_calls_that_start_again_begin_another_conversation() -> None:
    rows = ("a,0,m,10,0,1,0", "a,1,m,20,0,1,1", "a,0,m,10,0,1,2", "a,1,m,20,0,1,3", "b,0,m,5,0,1,4")
    assert [(one.conversation, one.call) for one in records(table(*rows))] == [
        ("a", 0), ("a", 1), ("a (2)", 0), ("a (2)", 1), ("b", 0),
    ]  # fmt: skip


def test_a_number_that_comes_twice_begins_another_conversation_too() -> None:
    found = records(table("a,0,m,10,0,1,0", "a,0,m,10,0,1,1"))
    assert [(one.conversation, one.call) for one in found] == [("a", 0), ("a (2)", 0)]


def test_a_table_that_names_no_conversation_has_none() -> None:
    found = records(table("10,0", "20,8", header="prompt_tokens,cached_tokens"))
    assert [(one.conversation, one.call) for one in found] == [("", 0), ("", 1)]


@pytest.mark.parametrize("empty", ["", "null", "None", "-", "NaN"])
def test_an_empty_cell_is_unknown_and_not_zero(empty: str) -> None:
    (only,) = records(table(f"a,0,m,10,{empty},1,0"))
    assert only.cached_tokens is None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,0,m,-5,0,1,0", "line 2: prompt_tokens is negative: -5"),
        ("a,0,m,5,-1,1,0", "line 2: cached_tokens is negative: -1"),
        ("a,0,m,many,0,1,0", "line 2: prompt_tokens is no whole number: many"),
        ("a,0,m,1.5,0,1,0", "line 2: prompt_tokens is no whole number: 1.5"),
        ("a,0,m,inf,0,1,0", "line 2: prompt_tokens is no whole number: inf"),
        ("a,0,m,1e300,0,1,0", "line 2: prompt_tokens is no whole number: 1e300"),
        ("a,0,m,,0,1,0", "line 2 holds no count of input tokens"),
        ("a,0,m,5,0,1,0,9,9", "line 2 has 9 cells for 7 columns"),
    ],
)
def test_a_row_that_is_none_is_an_error_of_its_entry(row: str, message: str) -> None:
    content = table(row, "a,1,m,10,0,1,0")
    assert errors(content) == [(0, message)]
    assert len(list(read_table(io.BytesIO(content), "t", {}))) == 2


def test_a_column_that_is_missing_is_named_with_those_that_are_there() -> None:
    with pytest.raises(MissingColumnError, match=r"no column hits .*prompt_tokens") as caught:
        list(read_table(io.BytesIO(table(*ROWS)), "t", {Column.CACHED: "hits"}))
    assert caught.value.wanted == "hits"
    with pytest.raises(MissingColumnError, match="of input tokens"):
        list(read_table(io.BytesIO(table("1,2", header="x,cached_tokens")), "t", {}))
    with pytest.raises(MissingColumnError, match=r"there are x, cached_tokens"):
        list(read_table(io.BytesIO(b"x,cached_tokens\n"), "t", {}))


@pytest.mark.parametrize("end", ["\r", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_lines_end_as_they_like(end: str, bom: bytes) -> None:
    content = table(*ROWS)
    other = bom + content.replace(b"\n", end.encode())
    assert sniff(io.BytesIO(other), "t") is InputKind.USAGE_TABLE
    assert records(other) == records(content)
    packed = gzip.compress(other)
    assert [one for one in read_records(packed, name="t") if isinstance(one, UsageRecord)] == records(content)


@pytest.mark.parametrize(
    ("content", "message", "told"),
    [
        (table(), "has a header and no rows", []),
        (
            table("a,0,m,9\r00,0,1,0"),
            "no row of it can be read",
            ["line 2 has a carriage return inside a cell"],
        ),
        (
            table(f"{'a' * 200_000},0,m,9,0,1,0"),
            "no row of it can be read",
            ["line 2 has a cell of more than"],
        ),
        (
            table("1", header=f"x,{'a' * 200_000}"),
            "no row of it can be read",
            ["line 1, which names the columns"],
        ),
        (b'{"prompt_tokens": 5\n', "no row of it can be read", ["line 1"]),
    ],
)
def test_a_table_without_rows_says_so(content: bytes, message: str, told: list[str]) -> None:
    found: list[str] = []
    with pytest.raises(NoRowsError, match=message):
        found.extend(str(one) for one in read_table(io.BytesIO(content), "t", {}))
    assert len(found) == len(told)
    assert all(words in one for words, one in zip(told, found, strict=True))
    assert "universal" not in "".join(found)


def test_a_carriage_return_inside_a_row_loses_that_row_alone() -> None:
    (entry, message), *others = errors(table("a,0,m,9\r00,0,1,0", *ROWS))
    assert (entry, others) == (0, [])
    assert message.startswith("line 2 has a carriage return inside a cell")


def test_bytes_are_never_made_up_for_numbers() -> None:
    with pytest.raises(NumbersOnlyError):
        list(read_exchanges(table(*ROWS), name="t"))


def test_other_text_is_no_table() -> None:
    for content in (b"name,value\na,1\n", b"prompt_tokens only in a sentence, you see\n"):
        with pytest.raises(UnrecognisedInputError):
            list(read_records(content, name="t"))


@pytest.mark.parametrize(
    ("name", "calls"), [("sessions/mini-swe-agent_truth.tsv", 4_875), ("cached_token_truth.tsv", None)]
)
def test_published_tables_are_read_whole(corpus: Path, name: str, calls: int | None) -> None:
    found = list(read_records(corpus / name))
    assert all(isinstance(one, UsageRecord) for one in found), [
        one for one in found if isinstance(one, EntryError)
    ]
    if calls is not None:
        assert len(found) == calls


def test_a_published_log_of_calls_is_a_table(corpus: Path) -> None:
    (file,) = (corpus / "kv-trace").glob("infron*")
    found = list(read_records(file))
    good = [one for one in found if isinstance(one, UsageRecord)]
    assert len(good) > 0.9 * len(found)
    assert {one.model for one in good} != {""}
