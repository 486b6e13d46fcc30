"""Measurements that the project's limits rest on; `python -m benchmarks` runs all of them."""
