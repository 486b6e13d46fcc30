"""One supervisor task per MCP connection."""
