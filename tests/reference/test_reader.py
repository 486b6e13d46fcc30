from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coldturn.reference.prompt as prompt_package
from coldturn.reference.prompt.errors import InvalidDeferredHandleError
from coldturn.reference.prompt.reader import read_tool_output, reader_tool
from coldturn.reference.records import RecordLog, ToolResult

PAGE = 50


def logged(text: str, *, run_id: str = "run-1", binary: tuple[str, ...] = ()) -> tuple[RecordLog, str]:
    log = RecordLog(run_id)
    handle = log.new_handle()
    log.append(ToolResult(0, 0, "call_0001", "look", handle, text, False, "direct", binary=binary))
    return log, handle


def read(text: str, **arguments: object) -> tuple[str, str]:
    """Head and part of an answer."""
    log, handle = logged(text)
    answer = read_tool_output(log, {"handle": handle, **arguments}, PAGE)
    assert not answer.is_error, answer.text
    head, _, part = answer.text.partition("\n")
    return head, part


@pytest.mark.requirement("BIG-8")
def test_offset_and_limit_count_code_points() -> None:
    text = "0é\U0001f6003456789" * 10
    assert read(text, offset=1, limit=3) == ("[characters 1 to 4 of 100; next offset 4]", "é\U0001f6003")
    assert read(text)[1] == text[:PAGE]
    assert read(text, limit=10_000)[1] == text[:PAGE], "a page has a size"
    assert read(text, offset=95) == ("[characters 95 to 100 of 100; end]", "56789")


@pytest.mark.requirement("BIG-7")
def test_past_the_end_and_no_match_are_empty_not_errors() -> None:
    assert read("abc", offset=3) == ("[characters 3 to 3 of 3; end]", "")
    assert read("abc", offset=99) == ("[characters 3 to 3 of 3; end]", "")
    assert read("abc", grep="z") == ("[matching lines 0 to 0 of 0; end]", "")
    assert read("", grep=".") == ("[matching lines 0 to 0 of 0; end]", "")
    assert read("a\nb", grep=".", offset=7) == ("[matching lines 2 to 2 of 2; end]", "")


@pytest.mark.requirement("BIG-8")
@given(st.text(max_size=300), st.integers(1, 80))
def test_paging_gives_the_original_back(text: str, limit: int) -> None:
    log, handle = logged(text)
    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        answer = read_tool_output(log, {"handle": handle, "offset": offset, "limit": limit}, PAGE).text
        head, _, part = answer.partition("\n")
        parts.append(part)
        found = re.search(r"next offset (\d+)", head)
        offset = int(found[1]) if found else None
    assert "".join(parts) == text


@pytest.mark.requirement("BIG-8")
def test_grep_shows_numbered_lines_cut_at_500() -> None:
    text = "alpha\r\nbeta\nalphabet " + "x" * 900 + "\n\nALPHA"
    log, handle = logged(text)
    answer = read_tool_output(log, {"handle": handle, "grep": "^alpha"}, 20_000).text
    lines = answer.split("\n")
    assert lines[0] == "[matching lines 0 to 2 of 2; end]"
    assert lines[1] == "1: alpha"
    assert lines[2] == "3: " + ("alphabet " + "x" * 900)[:500]
    assert read_tool_output(log, {"handle": handle, "grep": "(?i)^alpha$"}, 20_000).text.endswith(
        "1: alpha\n5: ALPHA"
    )


@pytest.mark.requirement("BIG-8")
def test_grep_pages_by_matches() -> None:
    text = "\n".join(f"match {number}" for number in range(30))
    head, part = read(text, grep="match", offset=3, limit=2)
    assert head == "[matching lines 3 to 5 of 30; next offset 5]"
    assert part == "4: match 3\n5: match 4"
    head, part = read(text, grep="match")  # the page's size is the limit here
    assert head == "[matching lines 0 to 4 of 30; next offset 4]"
    assert len(part) <= PAGE
    assert read(text, grep="match", offset=3, limit=0)[0] == "[matching lines 3 to 3 of 30; next offset 3]"


@pytest.mark.requirement("BIG-8")
def test_a_literal_is_no_pattern() -> None:
    assert read("a.c\nabc", grep="a.c", literal=True)[1] == "1: a.c"
    assert read("a.c\nabc", grep="a.c")[1] == "1: a.c\n2: abc"


@pytest.mark.requirement("BIG-8")
@pytest.mark.parametrize(("pattern", "named"), [(r"(a)\1", r"\1"), ("(?=a)", "(?="), ("[a", "[a")])
def test_what_re2_does_not_support_is_an_ordinary_error_that_names_it(pattern: str, named: str) -> None:
    log, handle = logged("aa")
    answer = read_tool_output(log, {"handle": handle, "grep": pattern}, PAGE)
    assert answer.is_error
    assert named in answer.text


@pytest.mark.requirement("BIG-8")
def test_a_pattern_that_ruins_backtracking_engines_is_answered() -> None:
    log, handle = logged("a" * 200_000 + "\n" + "a" * 30)
    answer = read_tool_output(log, {"handle": handle, "grep": "^(a+)+$"}, 20_000)
    assert answer.text.startswith("[matching lines 0 to 2 of 2; end]")


@pytest.mark.requirement("BIG-7")
@pytest.mark.parametrize("arguments", [{}, {"handle": 3}, {"handle": None}, {"handle": ["r1"]}])
def test_a_missing_or_odd_handle_is_a_validation_error(arguments: dict[str, Any]) -> None:
    log, _ = logged("text")
    answer = read_tool_output(log, arguments, PAGE)
    assert answer.is_error
    assert "handle:" in answer.text


@pytest.mark.requirement("BIG-8")
@pytest.mark.parametrize("field", ["offset", "limit"])
def test_negative_numbers_are_validation_errors(field: str) -> None:
    log, handle = logged("text")
    for value in (-1, "1", 1.5, True):
        answer = read_tool_output(log, {"handle": handle, field: value}, PAGE)
        assert answer.is_error
        assert f"{field}" in answer.text


@pytest.mark.requirement("BIG-7")
def test_a_handle_of_another_run_or_of_nothing_is_corruption() -> None:
    log, mine = logged("secret of one")
    other, theirs = logged("secret of the other", run_id="run-2")
    assert mine != theirs
    for handle in (theirs, "r9-00000000", "", "call_0001"):
        with pytest.raises(InvalidDeferredHandleError, match="invalid_deferred_handle") as caught:
            read_tool_output(log, {"handle": handle}, PAGE)
        assert caught.value.code == "invalid_deferred_handle"
    assert "other" in read_tool_output(other, {"handle": theirs}, PAGE).text


@pytest.mark.requirement("BIG-7")
def test_binary_content_is_told_not_read() -> None:
    line = "[image image/png, 12 bytes, sha256 abc]"
    log, handle = logged("", binary=(line,))
    assert read_tool_output(log, {"handle": handle}, PAGE).text.endswith(line)
    log, handle = logged("caption", binary=(line,))
    assert read_tool_output(log, {"handle": handle}, 500).text.endswith(f"caption\n{line}")


@pytest.mark.requirement("BIG-7")
def test_reading_needs_no_sandbox_child_process_or_file() -> None:
    folder = Path(next(iter(prompt_package.__path__)))
    imported: set[str] = set()
    for module in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.split(".")[0])
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"open", "exec", "eval", "__import__"}, module
    assert not imported & {
        "subprocess",
        "os",
        "tempfile",
        "shutil",
        "pathlib",
        "io",
        "multiprocessing",
        "socket",
    }


@pytest.mark.anyio
async def test_the_tool_reads_the_log_as_it_grows() -> None:
    log = RecordLog("run-1")
    tool = reader_tool(log, PAGE)
    handle = log.new_handle()
    log.append(ToolResult(0, 0, "call_0001", "look", handle, "late", False, "direct"))
    assert (await tool.handler({"handle": handle})).text.endswith("\nlate")
    assert tool.builtin
