"""The prefix core: what two requests' bytes alone can tell. Pure; imports nothing else of ours."""
