"""An issue tracker over stdio whose tools change while a client is connected.

Three calls change the list of tools, and each tells subscribers so (``notifications/tools/list_changed``):
``start_milestone`` unlocks two tools, ``set_issue_template`` edits the description of ``create_issue``,
``finish_import`` removes ``import_legacy_issue``.

Run it with ``python -m coldturn.replay.demo_recording.changing_server``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

INSTRUCTIONS = (
    "Issues of the parcelpost project. Read an issue before you comment on it. "
    "Milestone tools appear once a milestone has been started."
)
CREATE_ISSUE = "File a new issue. The title says what is wrong, the body where and how to see it."

_OPEN_ISSUES = (
    (
        41,
        "Quotes for the Channel Islands use the mainland zone",
        """GY and JE postcodes fall through to zone 1. The carrier bills zone 4.

To see it: `python -m parcelpost.cli GY1 1AA 2.0` answers 4.35; the invoice says 9.80.""",
        ("Reported by the warehouse after the March invoice.",),
    ),
    (
        44,
        "Fuel surcharge is rounded twice",
        "`surcharges.fuel` rounds to pence and `quote.total` rounds again. On 100 parcels that makes 0.40.",
        (),
    ),
    (
        47,
        "Remove the old quoting module",
        "`parcelpost/legacy.py` has had no caller since 1.4, but its tests still run for nine seconds.",
        ("Keep the volumetric divisor table, the finance team still asks for it.",),
    ),
    (
        52,
        "Storage account allows TLS 1.0",
        "The policy scan of 2 February lists `minimumTlsVersion: TLS1_0` in infra/main.bicep.",
        (),
    ),
)
_LEGACY_ISSUES = {
    "PP-118": ("Return labels print without the depot code", "Seen with label stock 102x64 only."),
    "PP-131": ("Zone file is read on every request", "Profile attached in the old tracker: 38 ms of 51 ms."),
}


@dataclass(slots=True)
class Issue:
    """One issue of the tracker."""

    number: int
    title: str
    body: str
    comments: list[str] = field(default_factory=list)
    milestone: str | None = None

    def line(self) -> str:
        """Return the issue as one line of a list."""
        milestone = f" [{self.milestone}]" if self.milestone else ""
        return f"#{self.number} open{milestone} {self.title} ({len(self.comments)} comments)"

    def page(self) -> str:
        """Return the whole issue with its comments."""
        comments = "".join(f"\n\n> {comment}" for comment in self.comments)
        return f"{self.line()}\n\n{self.body}{comments}"


class Tracker:
    """The issues, and which tools the server shows for them."""

    def __init__(self, server: MCPServer) -> None:
        self._server = server
        self._issues = {
            number: Issue(number, title, body, list(comments))
            for number, title, body, comments in _OPEN_ISSUES
        }
        self._milestone: str | None = None
        first: tuple[Callable[..., object], ...] = (
            self.list_issues,
            self.get_issue,
            self.add_comment,
            self.start_milestone,
            self.set_issue_template,
            self.import_legacy_issue,
            self.finish_import,
        )
        for tool in first:
            server.add_tool(tool, structured_output=False)
        server.add_tool(self.create_issue, description=CREATE_ISSUE, structured_output=False)

    def list_issues(self, label: Literal["any", "milestone", "backlog"] = "any") -> str:
        """List open issues, one line each, oldest first.

        `milestone` shows those that belong to one, `backlog` those that do not.
        """
        wanted = {"any": (True, False), "milestone": (True,), "backlog": (False,)}[label]
        lines = [issue.line() for issue in self._issues.values() if (issue.milestone is not None) in wanted]
        return "\n".join(lines) or "No open issues."

    def get_issue(self, number: int) -> str:
        """Read one issue with its comments."""
        return self._issue(number).page()

    def add_comment(self, number: int, text: str) -> str:
        """Add a comment to an issue."""
        issue = self._issue(number)
        issue.comments.append(text)
        return f"Comment {len(issue.comments)} added to #{number}."

    def create_issue(self, title: str, body: str) -> str:
        """File a new issue."""
        issue = Issue(max(self._issues) + 1, title, body)
        self._issues[issue.number] = issue
        return f"Created #{issue.number}: {title}"

    def import_legacy_issue(self, old_id: str) -> str:
        """Bring one issue over from the old tracker by its id there, such as PP-118."""
        if old_id not in _LEGACY_ISSUES:
            raise ToolError(f"The old tracker has no issue {old_id}; it holds {', '.join(_LEGACY_ISSUES)}.")
        title, body = _LEGACY_ISSUES[old_id]
        return self.create_issue(title, f"{body}\n\nImported from {old_id}.")

    async def start_milestone(self, name: str, ctx: Context) -> str:
        """Start a milestone. While one runs, two more tools put issues into it and show what is left."""
        first = self._milestone is None
        self._milestone = name
        if first:
            self._server.add_tool(self.assign_to_milestone, structured_output=False)
            self._server.add_tool(self.milestone_status, structured_output=False)
            await ctx.notify_tools_changed()
        return f"Milestone {name} started. assign_to_milestone and milestone_status are available now."

    async def set_issue_template(self, sections: list[str], ctx: Context) -> str:
        """Name the sections that the body of a new issue must have. The text of create_issue follows."""
        self._server.remove_tool("create_issue")
        description = f"{CREATE_ISSUE} Sections of the body, in this order: {', '.join(sections)}."
        self._server.add_tool(self.create_issue, description=description, structured_output=False)
        await ctx.notify_tools_changed()
        return f"New issues are asked for: {', '.join(sections)}."

    async def finish_import(self, ctx: Context) -> str:
        """Close the import from the old tracker for good; import_legacy_issue goes away."""
        self._server.remove_tool("import_legacy_issue")
        await ctx.notify_tools_changed()
        return "Import closed. import_legacy_issue is gone."

    def assign_to_milestone(self, number: int) -> str:
        """Put an issue into the milestone that runs."""
        self._issue(number).milestone = self._milestone
        return f"#{number} is in {self._milestone}."

    def milestone_status(self) -> str:
        """Show the issues of the milestone that runs and how many are open."""
        lines = [issue.line() for issue in self._issues.values() if issue.milestone == self._milestone]
        return "\n".join((f"{self._milestone}: {len(lines)} open", *lines))

    def _issue(self, number: int) -> Issue:
        if number not in self._issues:
            raise ToolError(f"There is no issue #{number}; list_issues shows the open ones.")
        return self._issues[number]


def build_server() -> MCPServer:
    """Return the tracker in its first state."""
    server = MCPServer("parcelpost-tracker", version="3.2.0", instructions=INSTRUCTIONS, log_level="ERROR")
    Tracker(server)
    return server


if __name__ == "__main__":
    build_server().run("stdio")
