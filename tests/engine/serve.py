"""Runs the engine's server until standard input ends: ``python serve.py MODEL SLOTS SIMILARITY CONTEXT``.

It prints the server's address. A process of its own keeps a crash of the engine away from the tests.
"""

from __future__ import annotations

import sys

import xllamacpp


def main(model: str, slots: str, similarity: str, context: str) -> None:
    """Serve `model` on a free port of 127.0.0.1."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_parallel = int(slots)
    params.n_ctx = int(context) * int(slots)  # the slots share it
    params.slot_prompt_similarity = float(similarity)
    # Otherwise a prompt that a slot drops is kept in memory and may come back.
    params.cache_ram_mib = 0
    params.use_jinja = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    # One core's work: tests run side by side, and idle threads of the engine spin.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.temp = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)  # noqa: T201 - how the test learns the address
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
