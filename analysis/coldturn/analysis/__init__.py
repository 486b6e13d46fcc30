"""The analysis room: estimates, verdicts, frames, charts. Knows neither vcrpy nor MCP."""
