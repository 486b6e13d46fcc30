"""The file itself: what it may do, what it escapes, how it is written."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runs import Run, runner
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.report import page
from coldturn.analysis.report.model import ReportData
from coldturn.analysis.report.recorded import RecordedView
from coldturn.replay.runs.demo import recordings_folder
from coldturn.traces.readers import read_exchanges
from report.report_inputs import HOSTILE, answered, conversation, hostile, request, written

DATA = re.compile(r'<script type="application/json" id="report-data">(.*?)</script>', re.DOTALL)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def rendered(path: Path, title: str = "t") -> str:
    data = ReportData()
    view = RecordedView(data, PairOptions())
    for item in read_exchanges(path):
        view.add(item)
    view.close()
    return page.render(data, title)


def test_the_page_allows_its_own_style_and_script_and_nothing_else(tmp_path: Path) -> None:
    text = rendered(written(tmp_path / "log.jsonl", conversation()))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy[1].replace("&#39;", "'").split(";"))
    assert rules.pop("default-src") == "'none'"
    for kind, tag in (
        ("style-src", "<style>(.*?)</style>"),
        ("script-src", '<script type="module">(.*?)</script>'),
    ):
        (own,) = re.findall(tag, text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert rules.pop(kind) == f"'sha256-{digest}'"
    assert rules == {"img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}


def test_nothing_in_the_page_names_another_place(tmp_path: Path) -> None:
    text = DATA.sub("", rendered(written(tmp_path / "log.jsonl", conversation())))
    assert set(re.findall(r"\w+://[^\s\"']*", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|fetch\(|style=", text
    )


def test_no_text_of_an_input_can_end_its_element(tmp_path: Path) -> None:
    text = rendered(written(tmp_path / "log.jsonl", hostile()), title=HOSTILE)
    assert text.lower().count("</script>") == 2
    assert "<img" not in text
    (data,) = DATA.findall(text)
    assert not set("<>&\u2028\u2029\0") & set(data)
    assert HOSTILE.replace("\0", "")[:40] in json.loads(data)["title"]


def test_half_signs_and_odd_file_names_do_no_harm(tmp_path: Path) -> None:
    body = request("one", system="Current time: 10:01", tools=("a", "\ud800b"))
    other = request("one", system="Current time: 10:01", tools=("a",))
    path = written(tmp_path / "log.jsonl", [answered(body), answered(other)])
    text = rendered(path, title="odd \udcff name")
    text.encode()
    assert "odd ? name" in text


def test_joined_scripts_keep_to_the_forms_that_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_text", lambda *_: 'import * as all from "./dom.js";\n')
    with pytest.raises(ValueError, match=r"odd\.js cannot be joined: import \*"):
        page.script_of(("odd.js",))


def test_every_module_imports_only_what_stands_in_front_of_it() -> None:
    folder = Path(page.__file__).parent / "static"
    for at, name in enumerate(page.SCRIPTS):
        source = (folder / name).read_text(encoding="utf-8")
        for imported in re.findall(r'from "\./(\w+\.js)"', source):
            assert imported in page.SCRIPTS[:at], f"{name} imports {imported}"
    assert {path.name for path in folder.iterdir()} == {*page.SCRIPTS, *page.STYLES}


def test_the_command_writes_one_page_and_says_so(run: Run, tmp_path: Path) -> None:
    written(tmp_path / "log.jsonl", conversation())
    ran = run("report", "log.jsonl", "-o", "out/page.html")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "out/page.html: 5 requests in 1 view\n"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["page.html"]
    assert "<title>log.jsonl · coldturn report</title>" in (tmp_path / "out/page.html").read_text(
        encoding="utf-8"
    )


def test_the_same_input_gives_the_same_bytes(run: Run, tmp_path: Path) -> None:
    written(tmp_path / "log.jsonl", conversation())
    pages = []
    for _ in range(2):
        assert run("report", "log.jsonl").code == 0
        pages.append((tmp_path / "report.html").read_bytes())
    assert pages[0] == pages[1]


def test_prompt_text_stays_out_of_the_file(run: Run, tmp_path: Path) -> None:
    lines = [
        answered(request("SECRET-ONE", system="Current time: 10:01 SECRET-TWO")),
        answered(request("SECRET-ONE", "SECRET-THREE", system="Current time: 10:02 SECRET-TWO")),
        *(line for line in conversation() if "mcp" in line["url"]),
    ]
    written(tmp_path / "log.jsonl", lines)
    assert run("report", "log.jsonl", "-o", "with.html").code == 0
    assert run("report", "log.jsonl", "-o", "without.html", "--no-content").code == 0
    assert b"SECRET-TWO" in (tmp_path / "with.html").read_bytes()
    found = (tmp_path / "without.html").read_bytes()
    assert b"SECRET" not in found
    assert b"a whole file" not in found
    assert b"clock_in_prefix" in found


def test_a_file_of_somebody_else_is_left_alone(run: Run, tmp_path: Path) -> None:
    written(tmp_path / "log.jsonl", conversation())
    (tmp_path / "notes.html").write_text("<p>mine</p>", encoding="utf-8")
    ran = run("report", "log.jsonl", "-o", "notes.html")
    assert ran.code == 2
    assert "[foreign-file]" in ran.err
    assert (tmp_path / "notes.html").read_text(encoding="utf-8") == "<p>mine</p>"


def test_an_earlier_report_is_replaced(run: Run, tmp_path: Path) -> None:
    written(tmp_path / "log.jsonl", conversation())
    assert run("report", "log.jsonl").code == 0
    assert run("report", "log.jsonl", "--title", "another").code == 0
    assert "another" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written_is_one_sentence(run: Run, tmp_path: Path) -> None:
    written(tmp_path / "log.jsonl", conversation())
    ran = run("report", "log.jsonl", "-o", "log.jsonl/page.html")
    assert ran.code == 2
    assert "[report-file]" in ran.err
    assert "trace" not in ran.err


@pytest.mark.parametrize(
    ("lines", "code", "slug"),
    [([], 2, "empty-input"), (["{"], 2, ""), (['{"hash_ids": [1], "timestamp": 1}'], 3, "numbers-only")],
)
def test_nothing_is_written_when_nothing_was_read(
    run: Run, tmp_path: Path, lines: list[str], code: int, slug: str
) -> None:
    (tmp_path / "log.jsonl").write_text("\n".join(lines), encoding="utf-8")
    ran = run("report", "log.jsonl")
    assert ran.code == code
    assert slug in ran.err
    assert "was not written" in ran.err
    assert not (tmp_path / "report.html").exists()


def test_what_could_not_be_read_is_on_the_page_and_strict_fails(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "log.jsonl", conversation())
    path.write_text(path.read_text(encoding="utf-8") + "{broken\n", encoding="utf-8")
    assert run("report", "log.jsonl").code == 0
    assert "line 9" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert run("report", "log.jsonl", "--strict").code == 2


def test_a_folder_of_traces_and_requests_is_one_page(run: Run, tmp_path: Path) -> None:
    replayed = run("replay", demo_recording(), "--policy", "stable", "--out", "folder", "--json")
    written(tmp_path / "folder/log.jsonl", conversation())
    ran = run("report", "folder", "-o", "page.html")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "page.html: 79 requests in 2 views\n"
    (tmp_path / "results.json").write_text(replayed.out, encoding="utf-8")
    assert run("report", "results.json", "-o", "page.html").out == "page.html: 74 requests in 1 view\n"


def test_a_recording_is_replayed_on_request(run: Run, tmp_path: Path) -> None:
    ran = run("report", demo_recording(), "--policy", "stable", "--set", "clock=system", "-o", "page.html")
    assert (ran.code, ran.err) == (0, "")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="policies"' in text
    assert '"stable+clock=system"' in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html"]


def demo_recording() -> str:
    with recordings_folder() as folder:
        return str(folder / "demo.jsonl")


def test_policies_cannot_be_asked_of_standard_input(run: Run) -> None:
    ran = run("report", "-", "--policy", "stable")
    assert ran.code == 2
    assert "[usage]" in ran.err


def test_help_does_not_load_what_a_page_needs() -> None:
    code = (
        "import sys; from coldturn.replay.cli.app import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert 'jinja2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)  # noqa: S603 - our own program


DOCS = Path(__file__).parents[2] / "docs"


def test_what_the_documentation_shows_is_what_the_command_says(run: Run, tmp_path: Path) -> None:
    shown = re.search(r"\$ coldturn (report docs/\S+ -o report\.html)\n(.*)\n```", PAGE)
    assert shown is not None
    _examples(tmp_path)
    assert run(*shown[1].split()).out == f"{shown[2]}\n"


def test_the_documentation_s_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    _examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(code, {})  # noqa: S102 - our own documentation
    assert page.is_report(tmp_path / "report.html")


def test_every_picture_of_the_documentation_is_there_and_small() -> None:
    named = set(re.findall(r"images/(report-[\w-]+\.png)", PAGE))
    assert len(named) == 5
    assert all(1_000 < (DOCS / "images" / name).stat().st_size < 100_000 for name in named)


PAGE = (DOCS / "report.md").read_text(encoding="utf-8")


def _examples(folder: Path) -> None:
    (folder / "docs/examples").mkdir(parents=True)
    shutil.copy(DOCS / "examples/requests.jsonl", folder / "docs/examples")
