"""The report as one HTML file: template, styles and scripts of the package, and the data, all escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

from coldturn.analysis.report.model import ReportData
from coldturn.analysis.report.payload import payload
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces.otlp import TraceFileError
from coldturn.traces.whole_file import need_place, written_whole

GENERATOR = '<meta name="generator" content="coldturn report">'
_HEAD = 4_096

STYLES = ("tokens.css", "page.css", "overview.css", "map.css", "detail.css", "tables.css", "print.css")
SCRIPTS = (
    "dom.js", "format.js", "data.js", "filters.js", "overview.js", "bars.js", "detail.js", "rows.js",
    "servers.js", "tables.js", "theme.js", "keys.js", "main.js",
)  # fmt: skip
"""In the order in which they stand in the page: each imports from those before it only."""

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|const) (\w+))", re.MULTILINE)


class ReportFileError(ColdturnError):
    """A report that cannot be written where it should go."""

    slug = "report-file"

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: the report cannot be written ({reason}): choose another place")


def write_report(report: ReportData, path: Path, title: str) -> None:
    """Write the page, whole or not at all. It replaces an earlier report, and nothing else.

    Args:
        report: What it shows.
        path: The file; its folders are made.
        title: What the page is called.

    Raises:
        ReportFileError: It cannot be written.
        ForeignFileError: Something else stands there.
    """
    page = render(report, title)
    try:
        with written_whole(path, "report", is_report) as partial:
            partial.write_text(page, encoding="utf-8")
    except TraceFileError as error:
        raise ReportFileError(path, error.reason) from error
    except OSError as error:
        raise ReportFileError(path, (error.strerror or str(error)).lower()) from error


def need_report_place(path: Path) -> None:
    """Refuse at once what `write_report` would refuse when there is something to write.

    Raises:
        ReportFileError: It could not be written there.
        ForeignFileError: Something else stands there.
    """
    try:
        need_place(path, "report", is_report)
    except TraceFileError as error:
        raise ReportFileError(path, error.reason) from error


def is_report(path: Path) -> bool:
    """Whether a file begins like a report of ours."""
    with path.open("rb") as file:
        return GENERATOR.encode() in file.read(_HEAD)


def render(report: ReportData, title: str) -> str:
    """The page as text.

    Args:
        report: What it shows.
        title: What the page is called; signs that UTF-8 cannot hold are replaced.
    """
    style, script = "\n".join(_text("static", name) for name in STYLES), script_of(SCRIPTS)
    title = title.encode("utf-8", "replace").decode()
    environment = Environment(
        loader=PackageLoader("coldturn.analysis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        title=title,
        version=version("coldturn"),
        policy=content_policy(style, script),
        style=style,
        script=script,
        data=_json(payload(report, title, version("coldturn"))),
        has_tables=bool(report.tables),
    )


def content_policy(style: str, script: str) -> str:
    """What the page may do: use its own style and script, and nothing else; no request of any kind."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def script_of(files: tuple[str, ...]) -> str:
    """Modules as one script, each in a scope of its own.

    Raises:
        ValueError: A line imports or exports in a form that is not joined here.
    """
    return "\n".join(_scoped(Path(name).stem, _text("static", name)) for name in files) + "\n"


def _scoped(name: str, source: str) -> str:
    exported = [found[2] for found in _EXPORT.finditer(source)]
    body = _EXPORT.sub(r"\1", _IMPORT.sub(r"const \1 = \2_js;", source)).strip()
    if left := re.search(r"^(?:import|export)\b.*", body, re.MULTILINE):
        raise ValueError(f"{name}.js cannot be joined: {left[0]}")
    return f"const {name}_js = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"


def _text(folder: str, name: str) -> str:
    return resources.files("coldturn.analysis.report").joinpath(folder, name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json(value: Any) -> str:  # noqa: ANN401 - any JSON
    """JSON in which no sign can end the element that it stands in; lone surrogates are escaped."""
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        text = json.dumps(value, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
