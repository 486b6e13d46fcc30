"""What a gate says, for CI: JUnit's XML and the annotations of GitHub's workflows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from coldturn.analysis.breaks.findings import ReadError
from coldturn.replay.check.judged import GateFinding, Judged, cold_sentences
from coldturn.replay.check.measured import RECORDED

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SUITE = "coldturn check"


def junit(judged: Judged, errors: Sequence[ReadError]) -> str:
    """A JUnit report: a test case for each recording and policy, failed by its findings.

    Findings of no recording in particular, and what could not be read, are cases of their own.
    """
    cases: dict[tuple[str, str], list[GateFinding]] = {one: [] for one in judged.looked_at}
    for finding in judged.findings:
        cases.setdefault((finding.source or _SUITE, finding.policy or RECORDED), []).append(finding)
    failed = sum(bool(found) for found in cases.values())
    counts = {"tests": str(len(cases) + len(errors)), "failures": str(failed), "errors": str(len(errors))}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": _SUITE, **counts, "skipped": "0"})
    for (source, policy), found in cases.items():
        case = ET.SubElement(
            suite, "testcase", {"classname": _xml(source), "name": _xml(policy), "time": "0"}
        )
        if found:
            title = ", ".join(_title(one) for one in found)
            failure = ET.SubElement(case, "failure", {"message": _xml(title), "type": found[0].kind.value})
            failure.text = _xml("\n".join(_with_mend(one) for one in found))
    for error in errors:
        case = ET.SubElement(
            suite, "testcase", {"classname": _xml(error.source), "name": "read", "time": "0"}
        )
        ET.SubElement(case, "error", {"message": _xml(error.message), "type": error.slug or "entry"})
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def github(judged: Judged, errors: Sequence[ReadError]) -> Iterator[str]:
    """Workflow commands: an error for each finding, a warning for what could not be read, notices besides."""
    for finding in judged.findings:
        yield _annotation("error", finding.source, _title(finding), _with_mend(finding))
    for error in errors:
        yield _annotation("warning", error.source, "not read", error.message)
    for cold in judged.cold:
        (sentence,) = cold_sentences([cold])
        yield _annotation("notice", cold.source, "cold on deploy", sentence)


def _title(finding: GateFinding) -> str:
    kind = finding.kind.value.replace("_", " ")
    return f"{kind}: {finding.cause}" if finding.cause else kind


def _with_mend(finding: GateFinding) -> str:
    return f"{finding.message} Accept or mend: {finding.how}"


def _annotation(level: str, source: str | None, title: str, message: str) -> str:
    properties = {"file": source, "title": title}
    given = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value)
    return f"::{level} {given}::{_data(message)}"


def _data(text: str) -> str:
    """Text behind a workflow command, escaped as the runner undoes it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
