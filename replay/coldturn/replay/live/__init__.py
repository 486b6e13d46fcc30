"""Live runs of the reference agent."""
