"""Pairs of our own, for the causes that no report in the table shows; each as small as it can be."""

from __future__ import annotations

from coldturn.reference.prefix.model import Zone
from prefix.bodies import PADDING, Assistant, Item, Result, User, tool
from prefix.pairs import IMAGE, LONG, NEXT, Report, systems, tools

RULES = "## Rules\nName your sources, and say so when you have none.\n"
STYLE = "## Style\nAnswer in short sentences, and in the language of the question.\n"
OTHER_PROMPT = "You translate what you are given into French, and say nothing besides.\n" * 25


def listed(heading: str, *names: str) -> str:
    return f"\n## {heading}\n" + "".join(f"- {name}: does what its name says\n" for name in names) + "\n"


def eager(value: bool) -> list[dict[str, object]]:
    return [{**tool(name), "always_load": value} for name in ("alpha", "beta")]


def called(call_id: str, result: str) -> list[Item]:
    return [Assistant("", (call_id, "read_file", '{"path":"a"}')), Result(call_id, result)]


def noted(text: str) -> User:
    return User("q", f"<system-reminder>{text}</system-reminder>")


OURS = (
    Report(
        "a flag on two tools",
        "defer_mode_flip",
        Zone.TOOLS,
        *tools(eager(True), eager(False)),
        ("alpha", "beta"),
    ),
    Report(
        "a tool's line that is gone",
        "catalog_shrink",
        Zone.SYSTEM,
        *systems(listed("Available tools", "grep", "web"), listed("Available tools", "grep")),
        names=("web",),
    ),
    Report(
        "a skill more",
        "skills_roster",
        Zone.SYSTEM,
        *systems(listed("Skills", "pdf"), listed("Skills", "pdf", "slides")),
        names=("slides",),
    ),
    Report(
        "a subagent less",
        "subagent_roster",
        Zone.SYSTEM,
        *systems(listed("Available agents", "explorer", "reviewer"), listed("Available agents", "reviewer")),
        names=("explorer",),
    ),
    Report(
        "two sections exchanged",
        "section_reorder",
        Zone.SYSTEM,
        *systems(f"\n{RULES}\n{STYLE}\n# Rest\n", f"\n{STYLE}\n{RULES}\n# Rest\n"),
    ),
    Report(
        "another prompt before the same talk",
        "system_replaced",
        Zone.SYSTEM,
        {"history": [User("q"), *NEXT]},
        {"system": OTHER_PROMPT, "history": [User("q"), *NEXT, *NEXT]},
    ),
    Report(
        "a number", "system_micro_drift", Zone.SYSTEM, *systems("Budget: 41 left.\n", "Budget: 39 left.\n")
    ),
    Report(
        "another rule",
        "system_edited",
        Zone.SYSTEM,
        *systems("Never guess.\n", "Guess whenever it helps the person who asks you for help.\n"),
    ),
    Report(
        "images dropped and put back",
        "image_toggle",
        Zone.HISTORY,
        {"history": [User("look"), *NEXT, *NEXT]},
        {"history": [User("look", image=IMAGE), *NEXT, *NEXT, *NEXT]},
        before={"history": [User("look", image=IMAGE), *NEXT]},
    ),
    Report(
        "an old result shortened within the turn",
        "elision_moving_boundary",
        Zone.HISTORY,
        {"history": [User("q"), *called("c1", LONG), *called("c2", LONG)]},
        {
            "history": [
                User("q"),
                *called("c1", "[Old result cleared]"),
                *called("c2", LONG),
                *called("c3", "ok"),
            ]
        },
        kinds=("placeholder",),
    ),
    Report(
        "a summary in place of two turns",
        "compaction",
        Zone.HISTORY,
        {"history": [User("q"), *called("c1", LONG), *NEXT, *called("c2", LONG), *NEXT]},
        {"history": [User("Summary of the conversation so far: two files were read."), User("next")]},
    ),
    Report(
        "two parts joined",
        "message_merge",
        Zone.HISTORY,
        {"history": [User("read a.py ", "and b.py"), *NEXT]},
        {"history": [User("read a.py and b.py"), *NEXT, *NEXT]},
    ),
    Report(
        "a step taken out",
        "block_missing",
        Zone.HISTORY,
        {"history": [User("q"), *called("c1", "ok"), *NEXT]},
        {"history": [User("q"), *NEXT, *NEXT]},
    ),
    Report(
        "a reminder that goes on changing where it stands",
        "transient_tail_changed",
        Zone.HISTORY,
        {"history": [noted("two files are open"), *called("c1", "ok")]},
        {"history": [noted("three files are open"), *called("c1", "ok"), *called("c2", "ok")]},
    ),
    Report(
        "an answer in other words",
        "history_rewritten",
        Zone.HISTORY,
        {"history": [User("q"), Assistant("It is in the depot, " + PADDING), User("next")]},
        {"history": [User("q"), Assistant("It is at the harbour, " + PADDING), User("next"), *NEXT]},
    ),
)
