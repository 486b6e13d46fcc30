"""A link that is named for an output stays one; what is no file is never replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from coldturn.replay.capture.redaction import Redaction
from coldturn.replay.errors import UnwritableRecordingError
from coldturn.replay.files.convert import convert_file
from coldturn.replay.files.scrub import scrub_file
from coldturn.traces.whole_file import ForeignFileError, need_place, written_whole


def test_what_a_link_leads_to_is_written(tmp_path: Path) -> None:
    there, link = tmp_path / "there" / "page.html", tmp_path / "link.html"
    there.parent.mkdir()
    link.symlink_to(there)
    need_place(link, "page", lambda _: False)
    with written_whole(link, "page", lambda _: False) as partial:
        partial.write_text("whole")
    assert link.is_symlink()
    assert there.read_text() == "whole"
    assert [path.name for path in there.parent.iterdir()] == ["page.html"]


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_not_replaced(tmp_path: Path, linked: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    named = tmp_path / "link" if linked else pipe
    if linked:
        named.symlink_to(pipe)
    for refuse in (need_place, lambda *given: written_whole(*given).__enter__()):
        with pytest.raises(ForeignFileError):
            refuse(named, "page", lambda _: True)
    assert pipe.is_fifo()
    assert named.is_symlink() is linked


@pytest.mark.parametrize("linked", [False, True])
def test_recordings_are_not_written_over_a_pipe(tmp_path: Path, linked: bool) -> None:
    source, pipe = tmp_path / "a.yaml", tmp_path / "pipe.json"
    source.write_text("interactions: []\nversion: 1\n")
    os.mkfifo(pipe)
    named = tmp_path / "link.json" if linked else pipe
    if linked:
        named.symlink_to(pipe)
    with pytest.raises(UnwritableRecordingError, match="it is no file"):
        convert_file(source, named, overwrite=True)
    with pytest.raises(UnwritableRecordingError, match="it is no file"):
        scrub_file(source, named, Redaction())
    assert pipe.is_fifo()
    assert named.is_symlink() is linked
