"""The small git repository and the wiki that the demo's agent works on, the same on every machine."""

from __future__ import annotations

import csv
import io
import json
import shutil
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib import resources
from pathlib import Path

import anyio
from pydantic import BaseModel, ConfigDict

_FIRST_TARIFF = (2021, 4)
_TARIFFS = 59
_SERVICES = {"economy": "2.45", "standard": "3.10", "express": "5.95", "signed": "4.20"}
_GOODS = (
    *(
        "general",
        "books",
        "textiles",
        "ceramics",
        "glass",
        "toys",
        "tools",
        "lamps",
        "seeds",
        "paint",
        "paper",
    ),
    *("cables", "bedding", "cushions", "baskets", "frames", "mirrors", "instruments", "bicycles", "garden"),
    *("kitchen", "bathroom", "camping", "fishing", "horses", "pets", "sports", "winter", "candles", "clocks"),
    *("wool", "yarn", "leather", "shoes", "hats", "umbrellas", "luggage", "office", "printers", "screens"),
    *("audio", "video", "games", "puzzles", "models", "railway", "maps", "prints", "posters", "pottery"),
)
_TOWNS = (
    *(("SW", "London", 1), ("SE", "London", 1), ("BN", "Brighton", 1), ("SO", "Southampton", 1)),
    *(("PO", "Portsmouth", 1), ("RG", "Reading", 1), ("OX", "Oxford", 1), ("GU", "Guildford", 1)),
    *(("B", "Birmingham", 2), ("CV", "Coventry", 2), ("LE", "Leicester", 2), ("NG", "Nottingham", 2)),
    *(("DE", "Derby", 2), ("NN", "Northampton", 2), ("PE", "Peterborough", 2), ("CB", "Cambridge", 2)),
    *(("LS", "Leeds", 3), ("M", "Manchester", 3), ("L", "Liverpool", 3), ("S", "Sheffield", 3)),
    *(("YO", "York", 3), ("HU", "Hull", 3), ("NE", "Newcastle", 3), ("CA", "Carlisle", 3)),
    *(("EH", "Edinburgh", 3), ("G", "Glasgow", 3), ("EX", "Exeter", 4), ("PL", "Plymouth", 4)),
    *(("TR", "Truro", 4), ("BS", "Bristol", 4), ("CF", "Cardiff", 4), ("SA", "Swansea", 4)),
    *(("LL", "Llandudno", 4), ("SY", "Shrewsbury", 4), ("AB", "Aberdeen", 6), ("PH", "Perth", 6)),
)
_DISTRICTS = 19
_BANDS = 30
_QUOTES = 92


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    path: str
    text: str


class _Commit(BaseModel):
    model_config = ConfigDict(extra="forbid")
    date: datetime
    author: str
    message: str
    files: tuple[str, ...]


class _Plan(BaseModel):
    model_config = ConfigDict(extra="forbid")
    files: tuple[_File, ...]
    commits: tuple[_Commit, ...]


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where the repository and the wiki stand."""

    repository: Path
    wiki: Path


def _zones() -> Iterator[str]:
    for area, town, zone in _TOWNS:
        for district in range(1, _DISTRICTS + 1):
            yield f"{area}{district},{town},{zone}"


def _divisors() -> Iterator[str]:
    for row, goods in enumerate(_GOODS):
        for column, zone in enumerate("ABCD"):
            step = 0 if row == 0 else (row * 7 + column * 3) % 9
            agreed = f"agreed {1 + (row + column) % 28:02d}.05.2019, confirmed by finance in June"
            yield f'    ("{goods}", "{zone}"): {6000 - 125 * step},  # {agreed}'


def _quotes(season: int) -> Iterator[str]:
    for number in range(_QUOTES):
        pick = number * 37 + season * 11
        area, _, zone = _TOWNS[pick % len(_TOWNS)]
        halves = 1 + (pick * 5) % _BANDS
        inward = f"{1 + pick % 9}{'ABDEFGHJ'[pick % 8]}{'LNPQRSTU'[number % 8]}"
        line = {
            "order": f"{'SUAW'[season]}{number:04d}",
            "postcode": f"{area}{1 + pick % _DISTRICTS} {inward}",
            "service": tuple(_SERVICES)[pick % 4],
            "weight": round(halves / 2 - 0.2, 1),
            "zone": zone,
            "band": f"{halves / 2:.1f}",
        }
        yield json.dumps(line) + ("," if number < _QUOTES - 1 else "")


_TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "zones": _zones,
    "divisors": _divisors,
    "spring": lambda: _quotes(0),
    "summer": lambda: _quotes(1),
    "autumn": lambda: _quotes(2),
    "winter": lambda: _quotes(3),
}


def tariff(months: int) -> str:
    """Return data/rates.csv after so many months: each raises one zone by 1.2 %, April all."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("zone", "service", "up_to_kg", "price"))
    for zone in range(1, 7):
        rises = sum(1 for month in range(1, months) if month % 12 == 0 or month % 6 + 1 == zone)
        for service, first in _SERVICES.items():
            for half in range(1, _BANDS + 1):
                price = (Decimal(first) + Decimal("0.31") * half) * (1 + Decimal("0.22") * (zone - 1))
                price *= Decimal("1.012") ** rises
                writer.writerow((zone, service, f"{half / 2:.1f}", price.quantize(Decimal("0.01"))))
    return out.getvalue()


def _render(text: str) -> str:
    lines: list[str] = []
    for line in text.removeprefix("\n").splitlines():
        name = line.strip("@") if line.startswith("@@") else ""
        lines.extend(_TABLES[name]() if name else (line,))
    return "\n".join(lines) + "\n"


def _tariff_commit(number: int) -> _Commit:
    year, month = divmod(_FIRST_TARIFF[0] * 12 + _FIRST_TARIFF[1] - 1 + number, 12)
    label = f"{year}-{month + 1:02d}"
    what = "yearly review" if number % 12 == 0 else f"zone {number % 6 + 1}"
    body = (
        "All zones rise with the yearly review; compared with the sheet by two people."
        if number % 12 == 0
        else "From the carrier's sheet of the 25th. Only this zone differs from the month before."
    )
    author = ("Ines Example <ines@example.org>", "Tomasz Example <tomasz@example.org>")[number % 2]
    date = datetime.fromisoformat(f"{label}-01T07:{10 + number % 40}:00+00:00")
    return _Commit(date=date, author=author, message=f"Tariff for {label}: {what}\n\n{body}", files=())


async def _git(repository: Path, *arguments: str, environment: dict[str, str]) -> None:
    await anyio.run_process(["git", *arguments], cwd=repository, env=environment)


async def _commit(
    repository: Path, commit: _Commit, files: tuple[str, ...], environment: dict[str, str]
) -> None:
    name, _, address = commit.author.removesuffix(">").partition(" <")
    dated = {
        **environment,
        **{f"GIT_{role}_NAME": name for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_EMAIL": address for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_DATE": commit.date.isoformat() for role in ("AUTHOR", "COMMITTER")},
    }
    await _git(repository, "add", "--", *files, environment=dated)
    await _git(repository, "commit", "--quiet", "--message", commit.message, environment=dated)


async def build_workspace(root: Path, environment: dict[str, str]) -> Workspace:
    """Write repository and wiki below `root`, replacing what an earlier run left there.

    Args:
        root: A folder that only the recording uses.
        environment: Variables for git; they should hide the user's own configuration.
    """
    text = resources.files(__package__ or "").joinpath("workspace.toml").read_text("utf-8")
    plan = _Plan.model_validate(tomllib.loads(text))
    contents = {file.path: _render(file.text) for file in plan.files}
    workspace = Workspace(root / "workspace", root / "wiki")
    for folder in (workspace.repository, workspace.wiki):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for path, content in contents.items():
        if path.startswith("wiki/"):
            (root / path).write_text(content, "utf-8")
    await _git(workspace.repository, "init", "--quiet", "--initial-branch=main", environment=environment)
    await _history(workspace.repository, plan, contents, environment)
    return workspace


async def _history(
    repository: Path, plan: _Plan, contents: dict[str, str], environment: dict[str, str]
) -> None:
    first = [commit for commit in plan.commits if commit.date.year == _FIRST_TARIFF[0]]
    tariffs = [_tariff_commit(number) for number in range(_TARIFFS)]
    last = [commit for commit in plan.commits if commit not in first]
    for commit in (*first, *tariffs, *last):
        files = commit.files or ("data/rates.csv",)
        for path in files:
            target = repository / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(
                contents[f"workspace/{path}"] if commit.files else tariff(tariffs.index(commit) + 1), "utf-8"
            )
        await _commit(repository, commit, files, environment)
