"""The gate: recordings against a baseline, with everything that a change may need to be accepted."""
