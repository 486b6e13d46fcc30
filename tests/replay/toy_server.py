"""A stdio MCP server for tests: it adds, asks its user, and grows a tool. Not a test itself."""

from __future__ import annotations

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("toy", instructions="Toys.")


class Name(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def ask(ctx: Context) -> str:
    """Ask the user for a name."""
    answer = await ctx.elicit("Who are you?", Name)
    return f"hello {answer.data.name}" if answer.action == "accept" else "nobody"


@server.tool()
async def count(ctx: Context) -> str:
    """Report progress twice."""
    await ctx.report_progress(1, 2)
    await ctx.report_progress(2, 2)
    return "counted"


@server.tool()
async def grow(ctx: Context) -> str:
    """Add a tool and say so, in the way of either era."""

    def extra() -> str:
        """The tool that was added."""
        return "extra"

    server.add_tool(extra)
    await ctx.notify_tools_changed()
    await ctx.request_context.session.send_tool_list_changed()
    return "grown"


if __name__ == "__main__":
    server.run()
