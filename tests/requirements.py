"""Requirements as data: every id that this version makes true.

A test carries ``@pytest.mark.requirement("DEF-3")``. `test_requirements.py` checks both directions.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    """One promise: its id, where it comes from (design, report, ours), and what holds, in one sentence."""

    id: str
    source: str
    behaviour: str


REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "NAR-1",
        "design",
        "Whatever a model lists, reads, finds or calls passes one chain of filters that can only take "
        "tools away, and is asked about at the moment of the act.",
    ),
    Requirement(
        "DEF-1",
        "design",
        "Whether a server is deferred is said by its connection alone: no call carries a switch, and no "
        "answer hands out a ticket.",
    ),
    Requirement(
        "DEF-2",
        "design",
        "Of a deferred server no schema and no tool description reaches the model before it asks, save "
        "the names injected on purpose.",
    ),
    Requirement(
        "DEF-3",
        "design",
        "Three fixed tools list a server's tool names, read one tool's definition and call one tool, each"
        " named by server and tool.",
    ),
    Requirement("DEF-4", "ours", "The tools array has the same bytes with no deferred server and with many."),
    Requirement(
        "DEF-5",
        "design",
        "Every deferred, empty or unreachable server has one folded line of bounded length, so that the "
        "model has heard of it.",
    ),
    Requirement(
        "DEF-6",
        "design",
        "An unknown server, an unknown tool and a forbidden one are ordinary tool errors, and the last "
        "two read alike.",
    ),
    Requirement(
        "DEF-7",
        "design",
        "Arguments that do not fit come back as a tool error that names the field, and never reach the "
        "server.",
    ),
    Requirement("DEF-8", "design", "Having listed or described a tool gives no right to call it."),
    Requirement(
        "DEF-9",
        "design",
        "A deferred server may inject a few named tools and stays listed; a name that its catalogue lacks"
        " is warned of and stands on the turn's span.",
    ),
    Requirement(
        "DEF-10",
        "design",
        "A connection that does not say is judged by the size of what it turned out to offer, once per Run.",
    ),
    Requirement(
        "DEF-11",
        "design",
        "On published catalogues deferral costs a small constant where preloading costs every schema, and"
        " every tool stays callable.",
    ),
    Requirement(
        "DEF-12",
        "ours",
        "The span of a call names the server and tool that did the work, whatever route led there.",
    ),
    Requirement("DEF-13", "ours", "No meta tool or search tool can be used to call another one."),
    Requirement(
        "TIER-1",
        "design",
        "A server with few permitted tools shows each of them as a tool of its own.",
    ),
    Requirement(
        "TIER-2",
        "design",
        "A server with more shows one tool whose description is an index of names and first lines.",
    ),
    Requirement("TIER-3", "design", "A server with very many is reached through a search and a call tool."),
    Requirement(
        "TIER-4",
        "design",
        "In every tier what can be called is exactly what is permitted at that moment.",
    ),
    Requirement(
        "TIER-5",
        "ours",
        "The limits between tiers are exact, and within a Run a tier never goes back and forth.",
    ),
    Requirement(
        "TIER-6",
        "ours",
        "Search ranks by BM25 over words split out of names in any script, puts an exact name first, and "
        "tells how many there are.",
    ),
    Requirement("TIER-7", "ours", "Meta tools and the search pair are constants that no catalogue moves."),
    Requirement(
        "TIER-8",
        "ours",
        "Names shown to a provider fit all of them, are unique, and depend on nothing but connection and "
        "tool.",
    ),
    Requirement(
        "TIER-9",
        "ours",
        "The describing tool serves every connected server, and a refusal of arguments carries the schema"
        " where the array does not show it.",
    ),
    Requirement(
        "RES-1",
        "design",
        "What a user connects or disconnects while a Run goes on counts from the next turn.",
    ),
    Requirement(
        "RES-2",
        "ours",
        "Under stable nothing in front of the history moves within a turn; promotion by policy shows from"
        " the next step.",
    ),
    Requirement(
        "RES-3",
        "report",
        "Two turns between which nothing changed share array and system text, and their history up to the"
        " first result whose shortening was due.",
    ),
    Requirement(
        "RES-4",
        "report",
        "Hints of discovered tools stand in the variable suffix alone and take no byte while there are "
        "none; the policy that puts them into the system text fails the same test.",
    ),
    Requirement(
        "RES-5",
        "report",
        "The array holds inline tools and then discovered ones, in the order in which they were first "
        "discovered.",
    ),
    Requirement(
        "RES-6",
        "report",
        "Array, inline list and discovered list agree on every path, also when the host brings a system "
        "prompt of its own.",
    ),
    Requirement(
        "RES-7",
        "ours",
        "How a discovered tool becomes callable is a policy: through the meta tool, appended to the "
        "array, or loaded by the provider itself without moving the prefix.",
    ),
    Requirement(
        "RES-8",
        "ours",
        "The order of the array is fixed and a definition keeps the bytes first seen, however servers, "
        "keys and pages are shuffled.",
    ),
    Requirement(
        "RES-9",
        "ours",
        "Lost, new, removed and edited tools and servers move as few bytes as their policy allows, and no"
        " call outlives its permission.",
    ),
    Requirement(
        "CAT-1",
        "design",
        "Catalogues are versioned rows that are marked as removed and never deleted, so that any older "
        "version can be shown.",
    ),
    Requirement(
        "CAT-2",
        "design",
        "A catalogue is read again on connect, in the background, on demand and when the server announces"
        " a change, each by itself.",
    ),
    Requirement(
        "CAT-3",
        "ours",
        "A listing is taken page by page as a whole or not at all, and the last good one serves meanwhile.",
    ),
    Requirement(
        "CAT-4",
        "ours",
        "Of refreshes that race the one that started later wins, and versions have no gaps across Runs, "
        "threads and processes.",
    ),
    Requirement(
        "CAT-5",
        "ours",
        "Sweeps keep to an interval with a floor, jitter and back-off, and a storm of announcements costs"
        " at most two fetches.",
    ),
    Requirement(
        "CAT-6",
        "ours",
        "Nothing of a catalogue's versions, counts or times can be found in a prompt.",
    ),
    Requirement(
        "CAT-7",
        "ours",
        "Catalogues are kept by connection id and apart for each partition of authorisation.",
    ),
    Requirement(
        "BIG-1",
        "design",
        "Thresholds count estimated tokens, and a type checker refuses an estimate wherever a provider's "
        "usage is meant.",
    ),
    Requirement(
        "BIG-2",
        "design",
        "There is a threshold per result and one per turn, and a policy that has them the wrong way round"
        " is refused when it is published.",
    ),
    Requirement(
        "BIG-3",
        "design",
        "Of one past turn the large results are shortened, then the largest others until the sum fits, "
        "whatever order they come in.",
    ),
    Requirement(
        "BIG-4",
        "design",
        "A preview keeps both ends around a line that says how to read on, is never longer than the "
        "whole, and parts no character.",
    ),
    Requirement("BIG-5", "design", "A failure keeps its top and nothing else."),
    Requirement(
        "BIG-6",
        "design",
        "The log holds every result whole, also of calls that were cancelled after their answer had come,"
        " and shortening is done anew from it.",
    ),
    Requirement(
        "BIG-7",
        "design",
        "A shortened result is read back from the log in this process; a handle that this Run was never "
        "given ends the Run.",
    ),
    Requirement(
        "BIG-8",
        "ours",
        "Reading pages by characters or by matching lines, in linear time, and the pages put together are"
        " the original.",
    ),
    Requirement(
        "ZONE-1",
        "design",
        "A prompt goes from what is most stable to what is least: system text, memory, history, variable "
        "suffix.",
    ),
    Requirement(
        "ZONE-2",
        "design",
        "Date and time stand behind the history alone, and a lint finds times, ids, temporary paths and "
        "git state in front of it.",
    ),
    Requirement(
        "ZONE-3",
        "report",
        "Reminders and todo lists stand in the variable suffix unless a policy to compare with says "
        "otherwise.",
    ),
    Requirement(
        "ZONE-4",
        "design",
        "The results of the current turn are whole, and a rendering changes at most once, when its turn "
        "has ended.",
    ),
    Requirement(
        "ZONE-5",
        "ours",
        "Carriers of tool results are no user messages, and a shortening at the boundary is planned and "
        "priced, not a regression.",
    ),
    Requirement(
        "ZONE-6",
        "ours",
        "Where the suffix stands is a policy, and no cache marker stands on it or behind it.",
    ),
    Requirement(
        "ZONE-7",
        "ours",
        "Segments are hashed in the order in which the provider renders them, which is data of the surface.",
    ),
    Requirement(
        "ZONE-8",
        "ours",
        "Requests are the same bytes in every process, and texts are sent as they are.",
    ),
    Requirement(
        "CONN-1",
        "ours",
        "A task of its own enters and leaves each connection, so that a server that is killed ends "
        "neither a turn nor another connection.",
    ),
    Requirement(
        "CONN-2",
        "ours",
        "What was lost is dialled again after growing waits, and a call over its time is cancelled and "
        "logged.",
    ),
    Requirement(
        "CONN-3",
        "ours",
        "Both eras of the protocol work over stdio, streamable HTTP and in memory.",
    ),
    Requirement(
        "CONN-4",
        "ours",
        "No limit of a library cuts a result, schemas of results are checked behind the log, and no cache"
        " but the catalogue answers.",
    ),
    Requirement(
        "SPAN-1",
        "design",
        "Turns, steps, tool calls and refreshes are spans that carry prefix hashes and the breaks of the "
        "turn.",
    ),
    Requirement(
        "REC-1",
        "ours",
        "Recording is a transport that passes bytes through while it appends them to a vcrpy cassette.",
    ),
    Requirement(
        "REC-2",
        "ours",
        "Every entry carries its times, and the cassette the versions it was made with.",
    ),
    Requirement(
        "REC-3",
        "ours",
        "Cassettes are YAML, JSON or appended lines, lose at most the entry in flight, and never open as "
        "empty when they are broken.",
    ),
    Requirement(
        "REC-4",
        "ours",
        "Playback matches by server, method, tool and canonical parameters, and a miss says what was near.",
    ),
    Requirement(
        "REC-5",
        "ours",
        "A replay reports what was not played, played twice or played out of order.",
    ),
    Requirement(
        "REC-6",
        "ours",
        "Secrets are taken out of headers by an allow-list and out of bodies by exact value at equal length.",
    ),
    Requirement("REC-7", "ours", "A stdio server is recorded and played without being spawned again."),
    Requirement(
        "REC-8",
        "ours",
        "Agents in any language are recorded through a proxy, and stdio servers through a shim in their "
        "place.",
    ),
    Requirement(
        "REC-9",
        "ours",
        "Bodies are kept as sent, and what a lossy source cannot tell is not claimed.",
    ),
    Requirement(
        "REP-1",
        "ours",
        "A recorded session runs through the reference runtime with the decisions of the recording in "
        "place of a model.",
    ),
    Requirement(
        "REP-2",
        "ours",
        "Connections, turns and decisions are found in a cassette alone, or in the session file beside it.",
    ),
    Requirement("REP-3", "ours", "Time in a replay is the recording's, and gaps are never slept."),
    Requirement(
        "REP-4",
        "ours",
        "Policies are named sets of fields, each of which can be set, kept in a file, or flipped alone.",
    ),
    Requirement(
        "REP-5",
        "ours",
        "A recorded call is made in the way that the policy in force asks for, and its extra steps are "
        "counted.",
    ),
    Requirement(
        "REP-6",
        "ours",
        "Policies are compared in one table that leads with the tokens that no cache served.",
    ),
    Requirement("REP-7", "ours", "Two replays of one recording under one policy write the same bytes."),
    Requirement(
        "REP-8",
        "ours",
        "Many recordings replay side by side, and one that is broken does not stop the others.",
    ),
)
