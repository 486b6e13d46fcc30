"""One server's share of the prompt during a Run: what stands there, and how it may move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from coldturn.reference.catalogue import CatalogueTool
from coldturn.reference.policy import Policy
from coldturn.reference.spec import ConnectionSpec
from coldturn.reference.surface.tiers import HEIGHT, Tier, is_preloaded, tier_of


@dataclass(slots=True)
class Group:
    """State of one server within a Run.

    Attributes:
        about: What the server is, as first told.
        late: It was not there, or had never been read, when the Run started.
        away_at_start: It could not be reached when the Run started, and its line says so.
        tier: Decided when the server was first read in this Run; None before that.
        shown: Rows whose bytes stand in the prompt (one by one, or as entries of a facade), by name.
        appended: Those of them that came in mid-Run and stand at the end of the array, in order of arrival.
        baseline: Names that were permitted when the server was first read in this Run, less those dropped.
        missing_eager: Eager names that the catalogue lacked then, or that are not permitted.
    """

    spec: ConnectionSpec
    about: str
    late: bool = False
    away_at_start: bool = False
    tier: Tier | None = None
    shown: dict[str, CatalogueTool] = field(default_factory=dict)
    appended: list[str] = field(default_factory=list)
    baseline: frozenset[str] = frozenset()
    missing_eager: tuple[str, ...] = ()

    @property
    def server(self) -> str:
        """The connection id."""
        return self.spec.id

    def decide(
        self, discovered: Sequence[CatalogueTool], permitted: Sequence[CatalogueTool], policy: Policy
    ) -> None:
        """Take the server in, the first time it is read in this Run; a late one is announced or appended."""
        preloaded = is_preloaded(self.spec.preload, discovered, policy)
        appends = policy.midrun_preload == "append"
        self.tier = tier_of(permitted, policy) if preloaded and (appends or not self.late) else "deferred"
        if not self.late or appends:
            self.baseline = frozenset(row.name for row in permitted)
            for row in self._wanted(permitted):
                self._show(row, policy)
        names = {row.name for row in permitted}
        self.missing_eager = tuple(n for n in self.spec.eager if not preloaded and n not in names)

    def follow(self, permitted: Sequence[CatalogueTool], policy: Policy) -> None:
        """Take in, at a turn's start, what has changed: as little as the policy allows."""
        current = {row.name: row for row in permitted}
        for name in list(self.shown):
            if name in current:
                if current[name].hash != self.shown[name].hash or policy.tool_order == "server":
                    self.shown[name] = current[name]
            elif policy.removal == "turn":
                self._drop(name)
        if policy.midrun_preload == "append":
            for row in self._wanted(permitted):
                if row.name not in self.shown:
                    self._show(row, policy, midrun=True)
        if policy.tier_change == "turn":
            self._rise(permitted, policy)

    def unannounced(self, permitted: Sequence[CatalogueTool]) -> tuple[str, ...]:
        """Names that came in mid-Run and do not stand in the prompt."""
        return tuple(
            row.name for row in permitted if row.name not in self.baseline and row.name not in self.shown
        )

    def ordered(self, policy: Policy) -> list[CatalogueTool]:
        """The shown rows that stand in the server's own place, in array order."""
        rows = [row for name, row in self.shown.items() if name not in self.appended]
        if policy.tool_order == "server":
            return sorted(rows, key=lambda row: row.position)
        return sorted(rows, key=lambda row: row.name)

    def _wanted(self, permitted: Sequence[CatalogueTool]) -> list[CatalogueTool]:
        if self.tier in {"direct", "facade"}:
            return list(permitted)
        return [row for row in permitted if self.tier == "deferred" and row.name in self.spec.eager]

    def _show(self, row: CatalogueTool, policy: Policy, *, midrun: bool = False) -> None:
        self.shown[row.name] = row
        if (midrun or self.late) and self.tier != "facade" and policy.tool_order == "pinned":
            self.appended.append(row.name)

    def _drop(self, name: str) -> None:
        del self.shown[name]
        # Should it return, it is new again.
        self.baseline -= {name}
        if name in self.appended:
            self.appended.remove(name)

    def _rise(self, permitted: Sequence[CatalogueTool], policy: Policy) -> None:
        if self.tier not in {"direct", "facade"}:
            return
        tier = tier_of(permitted, policy)
        if HEIGHT[tier] > HEIGHT[self.tier]:
            self.tier = tier
            self.shown = {row.name: row for row in self._wanted(permitted)}
            self.appended = []
