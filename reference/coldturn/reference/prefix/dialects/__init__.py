"""One module per request format: where its blocks, settings and markers stand."""
