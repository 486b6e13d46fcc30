"""Rows of a conversation array (``messages``, ``input``) with the labels that go with their places."""

from __future__ import annotations

from collections.abc import Sequence

from coldturn.reference.prefix.model import Labels, Zone
from coldturn.reference.wire.model import Encoded, Prompt
from coldturn.reference.wire.requests.fragments import dump, text


class Rows:
    """Collects the array's rows in order and remembers which paths are zone 2, zone 4 or planned.

    Attributes:
        count: Rows so far.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.count = 0
        self._rows: list[bytes] = []
        self._zones: dict[str, Zone] = {}
        self._planned: set[str] = set()

    @property
    def next_path(self) -> str:
        """JSON path of the row that is added next."""
        return self.path(self.count)

    def path(self, row: int) -> str:
        """JSON path of a row."""
        return f"$.{self._name}[{row}]"

    def add(self, row: bytes, zone: Zone | None = None) -> None:
        """Add one row, as a whole in `zone` where that is not the dialect's default."""
        if zone is not None:
            self._zones[self.next_path] = zone
        self._rows.append(row)
        self.count += 1

    def add_all(self, pieces: Sequence[bytes], count: int) -> None:
        """Add `count` rows that were made before; some stand together in one piece, with commas between."""
        self._rows.extend(pieces)
        self.count += count

    def mark(self) -> int:
        """Where `since` may start from."""
        return len(self._rows)

    def since(self, mark: int) -> list[bytes]:
        """The rows that were added since `mark`, one by one."""
        return self._rows[mark:]

    def label(self, path: str, zone: Zone) -> None:
        """Say that the block at `path` is in `zone`."""
        self._zones[path] = zone

    def plan(self, path: str) -> None:
        """Say that the tool result at `path` was elided at this turn's boundary."""
        self._planned.add(path)

    def encoded(self, prompt: Prompt, head: Sequence[tuple[str, bytes]]) -> Encoded:
        """Make the body: the keys of `head` in order, then the array."""
        members = b"".join(b'"%b":%b,' % (key.encode(), value) for key, value in head)
        # The rows may be half a megabyte: one join, and no copy besides.
        rows = self._rows or [b""]
        first, last = rows[0], rows[-1]
        opening = b'{%b"%b":[' % (members, self._name.encode())
        if len(rows) == 1:
            body = opening + first + b"]}"
        else:
            body = b",".join([opening + first, *rows[1:-1], last + b"]}"])
        labels = Labels(zones=self._zones, planned=frozenset(self._planned), deferred=prompt.deferred)
        return Encoded(body=body, labels=labels)


def settings(prompt: Prompt, limit: str) -> list[tuple[str, bytes]]:
    """Give the members that are no prompt: model, limit of output tokens, then the settings by name."""
    members: dict[str, object] = {"model": text(prompt.model), limit: prompt.max_output_tokens}
    members.update(sorted(prompt.settings.items()))
    return [(key, value(item)) for key, item in members.items()]


def value(item: object) -> bytes:
    """Serialise one value."""
    return dump({"": item})[4:-1]


def array(items: Sequence[bytes]) -> bytes:
    """Put serialised items into a JSON array."""
    return b"[" + b",".join(items) + b"]"
