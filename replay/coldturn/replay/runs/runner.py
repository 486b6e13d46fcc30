"""Replays of many recordings under many policies, in this process or in several at once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from signal import SIG_BLOCK, SIG_SETMASK, SIG_UNBLOCK, SIGINT, default_int_handler, pthread_sigmask, signal
from typing import TypeAlias

import anyio

from coldturn.analysis.breaks.findings import ReadError
from coldturn.reference.policy import Policy
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.errors import ReplayProcessError
from coldturn.replay.runs.results import ConnectionSummary, PolicyResult, RecordingResult, ReplayReport
from coldturn.replay.runs.single import ReplayOptions, need_places, replay_policy, requests_file
from coldturn.replay.sessions.loading import OpenedRecording, open_replayable, recording_label

__all__ = ["ReplayOptions", "replay", "replay_policy", "replay_recording", "requests_file"]


def replay_recording(
    path: str | Path,
    policies: Sequence[Policy],
    options: ReplayOptions | None = None,
    *,
    label: str | None = None,
) -> RecordingResult:
    """Replay one recording under each policy, one after the other.

    Args:
        path: A cassette or a session file.
        policies: What to replay it under.
        options: Where traces go and what breaks carry.
        label: What traces call it; the file's name without endings when not given.

    Raises:
        ColdturnError: It cannot be read, a trace cannot be written, or a replay of it failed.
    """
    options = options or ReplayOptions()
    opened = _opened(path, label, options)
    need_places(opened, policies, options)
    return _result(opened, [anyio.run(replay_policy, opened, policy, options) for policy in policies])


def _opened(path: str | Path, label: str | None, options: ReplayOptions) -> OpenedRecording:
    opened = open_replayable(path, idle_seconds=options.idle_seconds)
    return replace(opened, label=label or opened.label)


def _result(opened: OpenedRecording, done: Sequence[PolicyResult]) -> RecordingResult:
    return RecordingResult(
        source=opened.source,
        connections=tuple(
            ConnectionSummary(endpoint.id, endpoint.sessions, endpoint.calls, endpoint.lists)
            for endpoint in opened.script.endpoints
        ),
        unmapped_calls=opened.script.unmapped,
        policies=tuple(done),
        notes=opened.script.notes,
        session_file=opened.session_file,
        errors=tuple(ReadError(opened.source, one.entry, one.message) for one in opened.recording.torn),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Some of the replays of one recording: what one process does at a time.

    Attributes:
        recording: Its place among the recordings.
        policies: Each with its place among the policies.
    """

    recording: int
    path: str
    label: str
    policies: tuple[tuple[int, Policy], ...]


_Outcome: TypeAlias = RecordingResult | ReadError
"""A recording under one policy, or why there is none."""


def replay(
    paths: Sequence[str | Path],
    policies: Sequence[Policy],
    options: ReplayOptions | None = None,
    *,
    jobs: int = 1,
    progress: Callable[[], object] | None = None,
) -> ReplayReport:
    """Replay recordings; one that cannot be replayed is reported and does not stop the rest.

    Traces and results are the same for any number of jobs.

    Args:
        paths: Cassettes or session files.
        policies: Each recording is replayed under all of them.
        options: Where traces go and what breaks carry.
        jobs: Processes to use. With more than this one, a program must be importable: guard its main part
            with ``if __name__ == "__main__"``.
        progress: Called after each replay of a recording under a policy.
    """
    parts = list(_parts(paths, policies, jobs))
    outcomes: dict[tuple[int, int], _Outcome] = {}
    for part, done in _replayed(parts, options or ReplayOptions(), min(jobs, len(parts))):
        for (place, _), outcome in zip(part.policies, done, strict=True):
            outcomes[part.recording, place] = outcome
            if progress is not None:
                progress()
    report = ReplayReport()
    for recording in range(len(paths)):
        _add(report, [outcomes[recording, place] for place in range(len(policies))])
    return report


def _add(report: ReplayReport, outcomes: Sequence[_Outcome]) -> None:
    """A recording with the replays that were made of it one by one; the first error stands for all."""
    whole = [outcome for outcome in outcomes if isinstance(outcome, RecordingResult)]
    errors = [outcome for outcome in outcomes if isinstance(outcome, ReadError)]
    if errors:
        report.errors.append(errors[0])
    elif whole:
        done = tuple(policy for one in whole for policy in one.policies)
        report.recordings.append(replace(whole[0], policies=done))
        report.errors += whole[0].errors


def _parts(paths: Sequence[str | Path], policies: Sequence[Policy], jobs: int) -> Iterator[_Part]:
    """A part per recording; with fewer recordings than jobs, their policies are dealt out too."""
    labels = _labels(paths)
    numbered = list(enumerate(policies))
    pieces = max(1, min(-(-jobs // max(1, len(paths))), len(policies)))
    for recording, piece in product(range(len(paths)), range(pieces)):
        dealt = tuple(numbered[piece::pieces])
        yield _Part(recording, str(paths[recording]), labels[recording], dealt)


def _labels(paths: Sequence[str | Path]) -> list[str]:
    """A label of its own for each recording; equal names are numbered."""
    taken: dict[str, None] = {}
    for path in paths:
        label = found = recording_label(str(path))
        number = 2
        while found in taken:
            found = f"{label}-{number}"
            number += 1
        taken[found] = None
    return list(taken)


def _replayed(
    parts: Sequence[_Part], options: ReplayOptions, jobs: int
) -> Iterator[tuple[_Part, list[_Outcome]]]:
    if jobs <= 1:
        yield from ((part, _outcomes(part, options)) for part in parts)
        return
    left = yield from _in_pool(parts, options, jobs)
    # Nobody can tell which of them ended the process, or was ended with it: each gets one of its own.
    for part in left:
        for _ in (yield from _in_pool([part], options, 1)):
            yield part, _failed(part, ReplayProcessError(part.path))


def _in_pool(
    parts: Sequence[_Part], options: ReplayOptions, jobs: int
) -> Generator[tuple[_Part, list[_Outcome]], None, list[_Part]]:
    """Yield parts as they are done; return those that are not, because a process was ended from outside."""
    left: list[_Part] = []
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), signal, (SIGINT, default_int_handler))
    try:
        with _uninterrupted():
            running = {pool.submit(_in_worker, part, options): part for part in parts}
        for future in as_completed(running):
            part = running[future]
            try:
                done = future.result()
            except BrokenProcessPool:
                left.append(part)
            else:
                yield part, done
    finally:
        pool.shutdown(cancel_futures=True)
    return sorted(left, key=parts.index)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for the end of this; processes that start meanwhile are deaf to it from the start."""
    before = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, before)


def _in_worker(part: _Part, options: ReplayOptions) -> list[_Outcome]:
    """Replay a part. Ctrl-C ends that, and only that, so that half-written files are taken away."""
    pthread_sigmask(SIG_UNBLOCK, {SIGINT})
    try:
        return _outcomes(part, options)
    finally:
        pthread_sigmask(SIG_BLOCK, {SIGINT})


def _outcomes(part: _Part, options: ReplayOptions) -> list[_Outcome]:
    """Replay a part; where several processes share a recording, each does all of its own."""
    try:
        opened = _opened(part.path, part.label, options)
        need_places(opened, (policy for _, policy in part.policies), options)
    except ColdturnError as error:
        return _failed(part, error)
    return [_outcome(part, opened, policy, options) for _, policy in part.policies]


def _outcome(part: _Part, opened: OpenedRecording, policy: Policy, options: ReplayOptions) -> _Outcome:
    try:
        return _result(opened, [anyio.run(replay_policy, opened, policy, options)])
    except ColdturnError as error:
        return _error(part, error)


def _failed(part: _Part, error: ColdturnError) -> list[_Outcome]:
    return [_error(part, error) for _ in part.policies]


def _error(part: _Part, error: ColdturnError) -> ReadError:
    return ReadError(part.path, getattr(error, "entry", None), str(error), error.slug)
