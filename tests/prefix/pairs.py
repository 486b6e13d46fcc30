"""Public reports of broken prefixes, each as a small pair of requests. The id names the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from coldturn.reference.prefix.model import Surface, Zone
from prefix.bodies import PADDING, Assistant, Item, Result, Tool, User, tool
from prefix.surfaces import ARGUMENT_TEXTS, SURFACES

UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c33{}"


@dataclass(frozen=True)
class Report:
    """What was sent before and after, and what we should call it."""

    id: str
    cause: str
    zone: Zone
    parent: dict[str, Any]
    child: dict[str, Any]
    names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    surfaces: tuple[Surface, ...] = field(default=tuple(SURFACES))
    before: dict[str, Any] | None = None
    """What the parent itself continues, where it takes three requests to see the cause."""


def systems(before: str, after: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"system": PADDING + before + PADDING}, {"system": PADDING + after + PADDING}


def tools(before: list[Tool], after: list[Tool]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"tools": before}, {"tools": after}


def turned(one: dict[str, Any]) -> dict[str, Any]:
    """The same tool with the keys of its properties in reverse order."""
    schema = one["parameters"]
    return {**one, "parameters": {**schema, "properties": dict(reversed(schema["properties"].items()))}}


A, B = tool("alpha"), tool("beta")
SEARCH = tool("tool_search")
STEP: list[Item] = [Assistant("", ("c1", "alpha", '{"a":1,"b":[1,2]}')), Result("c1", "done")]
CALL = Assistant("", ("c2", "alpha", "{}"))
LONG = "a line of the result\n" * 40
IMAGE = "aGVsbG8=" * 40
NEXT: list[Item] = [Assistant("so it is"), User("next")]
MODE = "## Mode\nPlan first, and change no file before the plan is agreed on.\n"


def arguments(text: str) -> list[Item]:
    return [User("q"), Assistant("", ("c1", "alpha", text)), Result("c1", "done"), Assistant("so it is")]


def deferred(*names: str) -> str:
    return "\n<available-deferred-tools>\n" + "\n".join(names) + "\n</available-deferred-tools>\n"


REPORTS = (
    Report(
        "HKUDS/nanobot#226",
        "clock_in_prefix",
        Zone.SYSTEM,
        *systems("## Current Time\n10:01\n", "## Current Time\n10:02\n"),
        kinds=("clock",),
    ),
    Report(
        "open-webui/open-webui#28527",
        "date_rollover",
        Zone.SYSTEM,
        *systems("Today is 2026-05-26.\n", "Today is 2026-05-27.\n"),
        kinds=("date",),
    ),
    Report("openai/codex#2610", "tool_order", Zone.TOOLS, *tools([A, B], [B, A]), names=("beta", "alpha")),
    Report(
        "maximhq/bifrost#2347",
        "tool_order",
        Zone.TOOLS,
        *tools([A, B], [turned(B), turned(A)]),
        names=("beta", "alpha"),
        later=("schema_key_order",),
    ),
    Report(
        "stanfordnlp/dspy#10216",
        "json_format",
        Zone.HISTORY,
        {"history": arguments('{"a":1,"b":2}')},
        {"history": arguments('{"b":2,"a":1}')},
    ),
    Report(
        "NousResearch/hermes-agent#7875",
        "json_format",
        Zone.HISTORY,
        {"history": arguments('{"a":1, "b":2}')},
        {"history": arguments('{"a":1,"b":2}')},
        surfaces=ARGUMENT_TEXTS,
    ),
    Report(
        "sgl-project/sglang#34553",
        "schema_key_order",
        Zone.TOOLS,
        *tools([A, B], [A, turned(B)]),
        names=("beta",),
    ),
    Report(
        "anthropics/claude-agent-sdk-typescript#192",
        "random_id_in_tools",
        Zone.TOOLS,
        *tools(
            [tool("bash", f"Write to /tmp/claude-{UUID.format('01')}/out only.")],
            [tool("bash", f"Write to /tmp/claude-{UUID.format('02')}/out only.")],
        ),
        names=("bash",),
        kinds=("temp_path",),
    ),
    Report(
        "anthropics/claude-code#92524",
        "random_id_in_system",
        Zone.SYSTEM,
        *systems(f"Scratch: /work/{UUID.format('01')}/s\n", f"Scratch: /work/{UUID.format('02')}/s\n"),
        kinds=("uuid",),
    ),
    Report(
        "QwenLM/qwen-code#4777",
        "catalog_growth",
        Zone.SYSTEM,
        *systems(deferred("grep", "web"), deferred("grep", "web", "cron_add", "cron_drop", "cron_list")),
        names=("cron_add", "cron_drop", "cron_list"),
    ),
    Report(
        "QwenLM/qwen-code#6721",
        "tool_promoted",
        Zone.TOOLS,
        {"tools": [A, SEARCH], "history": [User("every hour, please")]},
        {
            "tools": [A, SEARCH, tool("cron_add")],
            "history": [
                User("every hour, please"),
                Assistant("", ("c1", "tool_search", '{"query":"schedule"}')),
                Result("c1", "1 match: cron_add"),
            ],
        },
        names=("cron_add",),
        kinds=("append_tail",),
    ),
    Report(
        "esengine/DeepSeek-Reasonix#110 (append)",
        "tool_added",
        Zone.TOOLS,
        *tools([A], [A, B]),
        names=("beta",),
        kinds=("append_tail",),
    ),
    Report(
        "esengine/DeepSeek-Reasonix#110 (edit)",
        "tool_edited",
        Zone.TOOLS,
        *tools([A, B], [A, tool("beta", "Does it in another way.")]),
        names=("beta",),
        kinds=("text",),
    ),
    Report(
        "esengine/DeepSeek-Reasonix#110 (remove)",
        "tool_removed",
        Zone.TOOLS,
        *tools([A, B], [A]),
        names=("beta",),
    ),
    Report(
        "anthropics/claude-code#68900",
        "attribution_nonce",
        Zone.SYSTEM,
        *systems(
            "x-anthropic-billing-header: cc_version=2.1.37; cch=36ee5;\n",
            "x-anthropic-billing-header: cc_version=2.1.37; cch=0aaa9;\n",
        ),
    ),
    Report(
        "anomalyco/opencode#29672",
        "env_state",
        Zone.SYSTEM,
        *systems("Is directory a git repo: no\n", "Is directory a git repo: yes\n"),
    ),
    Report(
        "anomalyco/opencode#14065",
        "tool_edited",
        Zone.TOOLS,
        *tools(
            [tool("bash", "Runs a command in /home/ann/project, nowhere else.")],
            [tool("bash", "Runs a command in /srv/ci/build, nowhere else.")],
        ),
        names=("bash",),
        kinds=("path",),
    ),
    Report(
        "vectorize-io/hindsight#703",
        "memory_injection",
        Zone.SYSTEM,
        {"system": "<mem>likes tea</mem>\n" + PADDING},
        {"system": "<mem>likes coffee and lives in Bergen</mem>\n" + PADDING},
    ),
    Report(
        "alvinunreal/oh-my-opencode-slim#790",
        "transient_tail_removed",
        Zone.HISTORY,
        {"history": [User("q\n\n<system-reminder>mind the phase</system-reminder>"), *STEP]},
        {"history": [User("q"), *STEP, Assistant("done"), User("next")]},
    ),
    Report(
        "vercel/eve#175",
        "elision_moving_boundary",
        Zone.HISTORY,
        {"history": [User("q"), STEP[0], Result("c1", LONG), CALL, Result("c2", LONG)]},
        {
            "history": [
                User("q"),
                STEP[0],
                Result("c1", "[cleared]"),
                CALL,
                Result("c2", LONG),
                Assistant("so"),
            ]
        },
        kinds=("placeholder",),
    ),
    Report(
        "yologdev/yoagent#99",
        "elision_not_idempotent",
        Zone.HISTORY,
        {"history": [User("q"), STEP[0], Result("c1", "head of it\n[... 900 lines truncated ...]\ntail")]},
        {
            "history": [
                User("q"),
                STEP[0],
                Result("c1", "head\n[... 905 lines truncated ...]\nil"),
                Assistant("so"),
            ]
        },
    ),
    Report(
        "OpenHands/software-agent-sdk#2905",
        "history_id_regenerated",
        Zone.HISTORY,
        {"history": [User("q"), Assistant("", ("c1", "alpha", "{}")), Result("c1", "done")]},
        {"history": [User("q"), Assistant("", ("d7", "alpha", "{}")), Result("d7", "done"), User("next")]},
    ),
    Report(
        "antirez/ds4#985",
        "whitespace_drift",
        Zone.HISTORY,
        {"history": [User("q"), Assistant('print("x"):\n'), User("go on")]},
        {"history": [User("q"), Assistant('print("x"):'), User("go on")]},
        kinds=("trailing",),
    ),
    Report(
        "alvinunreal/oh-my-opencode-slim#784",
        "section_toggle",
        Zone.SYSTEM,
        {"system": f"{PADDING}\n{MODE}", "history": [User("q"), *NEXT]},
        {"system": f"{PADDING}\n", "history": [User("q"), *NEXT, *NEXT]},
        kinds=("out",),
        before={"system": f"{PADDING}\n", "history": [User("q")]},
    ),
    Report(
        "anthropics/claude-code#91705",
        "image_replaced",
        Zone.HISTORY,
        {"history": [User("look", image=IMAGE), *NEXT]},
        {"history": [User("look", "[Image: source /tmp/a.png]"), *NEXT, *NEXT]},
    ),
    Report(
        "nibor1896/Crow#60",
        "thinking_stripped",
        Zone.HISTORY,
        {"history": [User("q"), Assistant("so it is", thought="Let me see. " * 9), User("next")]},
        {"history": [User("q"), *NEXT, *NEXT]},
    ),
    Report(
        "anthropics/claude-code#43657",
        "message_block_reorder",
        Zone.HISTORY,
        {"history": [User("what is in a.py?", "a.py: print('hello')"), *NEXT]},
        {"history": [User("a.py: print('hello')", "what is in a.py?"), *NEXT, *NEXT]},
    ),
)
