"""The GitHub action and the pre-commit hook: their steps, run here against a small repository."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate.conftest import ROOT, Project

_EXPRESSION = re.compile(r"\$\{\{ *([a-z._-]+) *\}\}")
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its expressions replaced; one that is not known fails."""
    return _EXPRESSION.sub(lambda found: values[found[1]], text)


def run_step(
    step: Mapping[str, Any], values: Mapping[str, str], folder: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a step as the runner does: its script in bash, its environment filled in."""
    given = {name: filled(value, values) for name, value in step["env"].items()}
    environment = {**{name: value for name, value in os.environ.items() if name != "CI"}, **given, **more}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(  # noqa: S603 - the script is ours
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def runner_temp(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runner's folder in which the install step has run, from the built wheel in place of an index."""
    folder = tmp_path_factory.mktemp("runner")
    (wheel,) = installed.parents[2].glob("*.whl")
    version = wheel.name.split("-")[1]
    values = {
        "steps.python.outputs.python-path": sys.executable,
        "inputs.version": version,
        "github.action_path": str(ROOT),
        "runner.temp": str(folder),
    }
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheel.parent), "PIP_NO_DEPS": "1"}
    done = run_step(STEPS[1], values, folder, **offline)
    assert done.returncode == 0, done.stderr
    (packages,) = folder.glob("coldturn/lib/python*/site-packages")
    # What it depends on is lent from the environment of this run.
    (packages / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return folder


def check(project: Project, runner_temp: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the last step with the action's inputs, defaults filled in."""
    given = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
    given.update({name.replace("_", "-"): value for name, value in inputs.items()})
    values = {f"inputs.{name}": value for name, value in given.items()}
    return run_step(STEPS[2], {**values, "runner.temp": str(runner_temp)}, project.folder)


def test_the_action_annotates_a_break_and_fails(project: Project, runner_temp: Path) -> None:
    project.broken("recordings/a b.yaml")
    project.sound("more/b.yaml")
    done = check(project, runner_temp, paths="recordings/a b.yaml\n\nmore\n")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error file=recordings/a b.yaml,title=new break%3A catalog_growth::")
    done = check(project, runner_temp, paths="recordings\nmore", args="--create --tolerance 0.1")
    assert done.returncode == 0, done.stderr
    assert len(project.recordings()) == 2
    assert check(project, runner_temp, paths="recordings\nmore").returncode == 0
    assert check(project, runner_temp, paths="m*/*.yaml", baseline="other.lock.json").returncode == 0


def test_nothing_of_an_input_is_run(project: Project, runner_temp: Path) -> None:
    project.sound("a.yaml")
    hostile = "$(touch hacked)`touch hacked`; touch hacked #"
    for name in ("baseline", "policies", "args"):
        done = check(project, runner_temp, **{"paths": "a.yaml", name: hostile})
        assert done.returncode == 2 or name == "baseline"
        assert not (project.folder / "hacked").exists()
    done = check(project, runner_temp, paths=f"--help\n{hostile}")
    assert done.returncode == 2
    assert "--help" in done.stderr
    assert not (project.folder / "hacked").exists()


def test_the_action_replays_under_policies(project: Project, runner_temp: Path) -> None:
    demo = ROOT / "replay/coldturn/replay/recordings/demo.jsonl"
    done = check(project, runner_temp, paths=str(demo), policies="stable\n", args="--no-lint")
    assert done.returncode == 1
    assert "tool_removed" in done.stdout


def test_what_the_action_uses_is_pinned_and_inputs_reach_scripts_by_environment_alone() -> None:
    uses = [step["uses"] for step in STEPS if "uses" in step]
    assert uses
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", one) for one in uses)
    assert all("${{" not in step["run"] for step in STEPS if "run" in step)
    named = set(re.findall(r"inputs\.([a-z-]+)", (ROOT / "action.yml").read_text(encoding="utf-8")))
    assert named == set(ACTION["inputs"])


def test_the_pre_commit_hook_fails_on_a_break(project: Project) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (programs,) = project.python.parents[1].glob("lib/python*/site-packages/bin")
    program, *words = shlex.split(hook["entry"])
    command = [str(project.python), str(programs / program), *words, *hook["args"]]

    def run(*more: str) -> int:
        done = subprocess.run(  # noqa: S603 - ours
            [*command, *more], cwd=project.folder, capture_output=True, check=False
        )
        return done.returncode

    changed = re.compile(hook["files"])
    assert changed.search("tests/cassettes/test_agent/test_one.yaml")
    assert not changed.search("src/agent.py")
    project.sound("tests/cassettes/test_agent/test_one.yaml")
    project.write("tests/data.json", '{"not": "a recording"}')
    assert run() == 0
    project.broken("tests/cassettes/test_agent/test_one.yaml")
    assert run() == 1
    assert run("--create") == 0
    assert run() == 0
