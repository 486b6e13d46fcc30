"""A foreign project: an environment of its own with the built wheel, a repository with pytest-recording."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from replay.gate_logs import GROWN, body

ROOT = Path(__file__).parents[2]
URL = "https://api.openai.com/v1/chat/completions"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds coldturn as a user installs it: the wheel, no source tree.

    What coldturn depends on is lent from the environment of this run.
    """
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", symlinks=True)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    build = ["-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run([sys.executable, *build], cwd=ROOT, check=True, capture_output=True)  # noqa: S603 - ours
    (wheel,) = folder.glob("*.whl")
    quiet = ["--no-deps", "--no-index", "--quiet", "--disable-pip-version-check", "--target", str(packages)]
    subprocess.run(  # noqa: S603 - ours
        [sys.executable, "-m", "pip", "install", *quiet, str(wheel)], check=True, capture_output=True
    )
    (packages / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return folder / "venv" / "bin" / "python"


@dataclass(frozen=True)
class Ran:
    """How a run of pytest ended."""

    code: int
    out: str
    err: str


@dataclass
class Project:
    """A repository of somebody else."""

    folder: Path
    python: Path
    environment: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, text: str) -> Path:
        """Write a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def cassette(self, name: str, *bodies: Mapping[str, Any], url: str = URL) -> Path:
        """Write a cassette as vcrpy does; JSON is YAML."""
        interactions = [
            {
                "request": {"body": json.dumps(one), "headers": {}, "method": "POST", "uri": url},
                "response": {
                    "body": {"string": '{"ok": true}'},
                    "headers": {"content-type": ["application/json"]},
                    "status": {"code": 200, "message": "OK"},
                },
            }
            for one in bodies
        ]
        return self.write(name, json.dumps({"interactions": interactions, "version": 1}))

    def sound(self, name: str) -> Path:
        """A cassette whose prefix never breaks."""
        return self.cassette(name, body("a"), body("a", "b"))

    def broken(self, name: str) -> Path:
        """A cassette whose second request breaks the prefix."""
        return self.cassette(name, body("a"), body("a", "b", system=GROWN))

    def pytest(self, *arguments: str, **environment: str) -> Ran:
        """Run pytest there."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "CI"))}
        done = subprocess.run(  # noqa: S603 - ours
            [str(self.python), "-m", "pytest", "-p", "no:cacheprovider", *arguments],
            cwd=self.folder,
            env={**kept, **self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "INTERNALERROR" not in done.stdout + done.stderr, done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    @property
    def lock(self) -> Path:
        """Its baseline."""
        return self.folder / "coldturn.lock.json"

    def recordings(self) -> dict[str, dict[str, Any]]:
        """Lines of its baseline by source."""
        data = json.loads(self.lock.read_text(encoding="utf-8"))
        return {line["source"]: line for line in data["recordings"]}


@pytest.fixture
def project(installed: Path, tmp_path: Path) -> Project:
    """An empty repository."""
    folder = tmp_path / "repository"
    folder.mkdir()
    return Project(folder, installed)


AGENT = """
import json, os, urllib.request

SYSTEM = {system!r}
URL = os.environ.get("PROVIDER", "http://127.0.0.1:9/v1/chat/completions")


def ask(*users, system=SYSTEM):
    told = [{{"role": "user", "content": user}} for user in users]
    messages = [{{"role": "system", "content": system}}, *told]
    data = json.dumps({{"model": "m", "messages": messages}}).encode()
    request = urllib.request.Request(URL, data, {{"content-type": "application/json"}})
    with urllib.request.urlopen(request) as answer:
        assert answer.read()
"""

WriteTests = Callable[..., None]


@pytest.fixture
def vcr_tests(project: Project) -> WriteTests:
    """Writes tests/test_agent.py: tests by name, each with the cassette of its name and its decorators."""

    def write(*names: str, before: str = "", body_of: str = "pass") -> None:
        tests = "".join(
            f"\n{before}\n@pytest.mark.vcr\ndef test_{name}():\n    {body_of}\n" for name in names
        )
        project.write("tests/test_agent.py", f"import pytest\n{tests}")

    return write
