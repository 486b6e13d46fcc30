"""Our own MCP server for the tests of transports; run by itself it serves stdio. Not a test."""

from __future__ import annotations

import base64

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Tide(BaseModel):
    """When the water is high."""

    harbour: str
    hour: int


def make_server() -> MCPServer:
    """A server of its own: what one test adds, no other sees."""
    server = MCPServer("own", instructions="Tides and echoes.", log_level="CRITICAL")

    @server.tool()
    def echo(text: str) -> str:
        """Say it again."""
        return text

    @server.tool()
    def tide(harbour: str) -> Tide:
        """When the water is high."""
        return Tide(harbour=harbour, hour=13)

    @server.tool()
    def dot() -> Image:
        """A picture."""
        return Image(data=DOT, format="png")

    @server.tool()
    def fail() -> str:
        """It does not work."""
        raise ToolError("the harbour is closed")

    @server.tool()
    async def count(ctx: Context, to: int) -> str:
        """Count, and report on the way."""
        for number in range(to):
            await ctx.report_progress(number + 1, to)
        return f"counted to {to}"

    @server.tool()
    async def grow(ctx: Context) -> str:
        """Add a tool and say so, in the way of either era."""
        server.add_tool(lambda: "extra", name="extra", description="It was added.")
        await ctx.notify_tools_changed()
        await ctx.request_context.session.send_tool_list_changed()
        return "grown"

    return server


if __name__ == "__main__":
    make_server().run()
