"""Which pages there are, and the one, or the part of one, that a name means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from coldturn.analysis.verdicts.aliases import WORDS
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.manual.printable import outside_code, printable

PAGES = {
    "explain": "every prefix break in recorded requests, and how to read what is said of it",
    "causes": "each cause: what changed, why it costs, what to do",
    "advise": "which cause to mend first, and how a mend is judged",
    "inputs": "what can be read: bodies, cassettes, HAR, spans, sessions, tables",
    "recording": "how to record any agent: proxy, shim, Python; what is never written",
    "replaying": "recorded MCP sessions under other policies; session files",
    "check": "the gate: baselines, findings, exemptions, CI",
    "pytest": "the same gate inside a test suite",
    "report": "one page with a map of every request's prefix",
    "chart": "pictures, kind by kind",
    "notebook": "five notebooks on your data",
    "frames": "tables for polars and SQL: columns, worked questions",
    "providers": "cache rules of providers, and what estimates make of them",
    "accuracy": "how accurate estimates are, measured",
    "surfaces": "request formats: in which order each renders a prompt",
    "run": "the reference agent, live: its file, its record",
    "runtime": "the reference runtime: zones, tiers, policies and their fields",
    "search": "tool search in the reference runtime",
    "tuning": "default limits of a policy, and why",
    "spans": "every span and attribute of a trace",
    "python": "all of it from Python",
    "errors": "each error by its name in brackets: what it means, what to do",
}
"""Name of each page and what it is about, in the order of the list."""

EXAMPLES = ("agent.toml", "requests.jsonl", "tickets.jsonl", "plateau.jsonl")
"""Files that pages use, which print as they are."""

COMMANDS = {
    "curves": "providers#how-large-a-cache-and-for-how-long",
    "convert": "frames",
    "demo": "replaying",
    "diff": "explain",
    "estimate": "providers",
    "record": "recording",
    "replay": "replaying",
    "scrub": "recording#what-is-never-written",
    "session": "replaying#the-session-file",
}
"""Where commands stand that have no page of their name."""

_NAMING = ("causes", "errors")
"""A cause and an error need no page in front of their name, whatever else is called like it."""
_NEAR = 4
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *$", re.MULTILINE)
_NO_ANCHOR = re.compile(r"[^\w\- ]")


class UnknownPageError(ColdturnError):
    """A name that means no page and nothing on one."""

    slug = "no-page"

    def __init__(self, name: str, near: list[str]) -> None:
        self.name = name
        self.near = near
        meant = f"did you mean {', '.join(near)}? `coldturn docs`" if near else "`coldturn docs`"
        super().__init__(f"there is no page, cause or error {name}: {meant} lists the pages")


class SeveralPagesError(ColdturnError):
    """A section's name that several pages have."""

    slug = "several-pages"

    def __init__(self, name: str, found: list[str]) -> None:
        self.name = name
        self.found = found
        super().__init__(f"several pages have a section {name}: name one of {', '.join(found)}")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a name means.

    Attributes:
        name: ``page``, ``page#anchor``, or an example's file name.
        text: Markdown whose links are commands; an example's own text.
        is_markdown: False for an example.
    """

    name: str
    text: str
    is_markdown: bool = True


def find(name: str) -> Shown:
    """What `name` means: a page, a section (``page#anchor`` or its anchor alone), a command, an example.

    Args:
        name: As somebody typed it, or as a finding or a link of a page has it: ``docs/causes.md#tool_added``.

    Raises:
        UnknownPageError: It means nothing; the error knows what is called alike.
        SeveralPagesError: Several pages have such a section.
    """
    page, _, anchor = name.strip("[] `").removeprefix("docs/").removeprefix("examples/").partition("#")
    page = page.lower().removesuffix(".md")
    if page in EXAMPLES:
        return Shown(page, _read(f"examples/{page}"), is_markdown=False)
    if not anchor:
        page, _, anchor = COMMANDS.get(page, page).partition("#")
    if page in PAGES:
        return _section(page, anchor, name) if anchor else Shown(page, printable(_read(f"{page}.md"), page))
    return _anywhere(anchor or page, name)


def sections(page: str) -> dict[str, str]:
    """The sections of a page by their anchors, each with those inside it, in Markdown as it is written.

    Args:
        page: One of `PAGES`.
    """
    text = _read(f"{page}.md")
    headings = list(_HEADING.finditer(outside_code(text)))
    found: dict[str, str] = {}
    for at, heading in enumerate(headings):
        level = len(heading[1])
        following = (one.start() for one in headings[at + 1 :] if len(one[1]) <= level)
        found.setdefault(anchor_of(heading[2]), text[heading.start() : next(following, len(text))])
    return found


def anchor_of(heading: str) -> str:
    """A heading's anchor, as GitHub makes it."""
    return _NO_ANCHOR.sub("", heading.strip().lower()).replace(" ", "-")


def _section(page: str, anchor: str, name: str) -> Shown:
    wanted = _alike(anchor)
    for one, text in sections(page).items():
        if _alike(one) == wanted:
            return Shown(f"{page}#{one}", printable(text, page))
    raise UnknownPageError(name, _near(anchor))


def _anywhere(anchor: str, name: str) -> Shown:
    wanted = _alike(anchor)
    found = [(page, one) for page in PAGES for one in sections(page) if _alike(one) == wanted]
    named = [(page, one) for page, one in found if one in _names_of(page)]
    if len(named or found) > 1:
        raise SeveralPagesError(name, [f"{page}#{one}" for page, one in found])
    if found:
        return _section((named or found)[0][0], anchor, name)
    if anchor in WORDS:
        return _section("causes", "what-others-call-them", name)
    raise UnknownPageError(name, _near(anchor))


def _near(word: str) -> list[str]:
    names = [*PAGES, *COMMANDS, *EXAMPLES, *(one for page in _NAMING for one in _names_of(page))]
    return get_close_matches(word.lower(), dict.fromkeys(names), n=_NEAR)


def _names_of(page: str) -> list[str]:
    """Causes or errors that a page explains, each under a heading of the third level."""
    if page not in _NAMING:
        return []
    return [anchor for anchor, text in sections(page).items() if text.startswith("### ")]


def _alike(anchor: str) -> str:
    return anchor.lower().replace("_", "-")


def _read(file: str) -> str:
    return _folder().joinpath(file).read_text(encoding="utf-8")


def _folder() -> Traversable:
    """Beside this module in a wheel; in a checkout where the pages are written."""
    shipped = resources.files("coldturn.replay.manual") / "docs"
    return shipped if shipped.is_dir() else Path(__file__).parents[4] / "docs"
