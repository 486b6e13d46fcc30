"""The registry: what ships is complete and unambiguous, a user's files count first, gaps are told."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from coldturn.analysis.entries.request import CacheRequest, Write
from coldturn.analysis.estimates.registry import (
    ContestedRulesError,
    MissingParameterError,
    NoRulesError,
    ParameterError,
    Registry,
    RuleFileError,
    UnknownRulesError,
    read_rules,
    shipped,
    with_parameters,
)
from coldturn.analysis.estimates.ruleset import EntryModel, Parameters, Status
from coldturn.analysis.estimates.simulate import simulator
from coldturn.reference.prefix.model import Surface

M, C, R = Surface.MESSAGES, Surface.CHAT_COMPLETIONS, Surface.RESPONSES
G, B = Surface.GENERATE_CONTENT, Surface.CONVERSE
OWN = """
name = "house"
provider = "house"
surface = "the gateway of the house"
as_of = 2026-11-30
source = "measured by us"
status = "measured"
model = "longest_prefix"
[match]
hosts = ["llm.house.example"]
models = ["gpt-*"]
[parameters]
minimum = 256
granularity = 64
"""


def test_every_shipped_rule_is_dated_and_says_where_it_comes_from() -> None:
    found = list(shipped())
    assert len(found) >= 16
    for one in found:
        assert date(2026, 1, 1) <= one.as_of <= date(2026, 12, 31), one.name
        assert len(one.source) > 10, one.name
        assert one.surface, one.name
        assert one.summary.endswith("."), one.name
        for model in one.models:
            simulator(one, one.parameters_for(model.models[0].replace("*", "").replace("[1-9]", "1")))


def test_all_four_entry_models_have_rules() -> None:
    assert {one.model for one in shipped()} == set(EntryModel)


@pytest.mark.parametrize(
    ("surface", "url", "model", "name"),
    [
        (M, "https://api.anthropic.com/v1/messages", "claude-sonnet-4-5-20250929", "anthropic-messages"),
        (M, "", "claude-opus-5-5", "anthropic-messages"),
        (M, "https://bedrock-runtime.us-east-1.amazonaws.com/model/x/invoke",
         "us.anthropic.claude-sonnet-4-20250514-v1:0", "bedrock-claude"),
        (M, "https://us-east5-aiplatform.googleapis.com/v1/x", "claude-sonnet-5", "vertex-claude"),
        (C, "https://openrouter.ai/api/v1/x", "anthropic/claude-sonnet-4.6", "openrouter-claude"),
        (C, "https://api.openai.com/v1/chat/completions", "gpt-4o-mini", "openai-gpt-5.4"),
        (R, "", "gpt-5-mini", "openai-gpt-5.4"),
        (R, "", "gpt-5.4-2026-03-05", "openai-gpt-5.4"),
        (R, "https://contoso.openai.azure.com/openai/v1/responses", "gpt-4.1", "openai-gpt-5.4"),
        (R, "", "gpt-5.5", "openai-gpt-5.5"),
        (R, "", "gpt-5.5-2026-04-23", "openai-gpt-5.5"),
        (R, "", "gpt-5.6-sol", "openai-gpt-5.6"),
        (R, "", "gpt-6.1-sol", "openai-gpt-5.6"),
        (R, "https://openrouter.ai/api/v1/responses", "openai/gpt-5.6-sol", "openai-gpt-5.6"),
        (C, "https://api.deepseek.com/chat/completions", "deepseek-chat", "deepseek"),
        (C, "https://openrouter.ai/api/v1/chat/completions", "deepseek/deepseek-v4-flash", "deepseek"),
        (C, "https://generativelanguage.googleapis.com/v1beta/openai/x", "gemini-2.5-pro", "gemini-implicit"),
        (C, "https://api.x.ai/v1/chat/completions", "grok-4", "xai"),
        (G, "https://generativelanguage.googleapis.com/v1beta/models/x:generateContent", "gemini-2.5-flash",
         "gemini-implicit"),
        (G, "https://us-central1-aiplatform.googleapis.com/v1/x", "gemini-3.1-pro", "gemini-implicit"),
        (G, "", "models/gemini-2.5-flash", "gemini-implicit"),
        (B, "https://bedrock-runtime.us-east-1.amazonaws.com/model/x/converse",
         "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock-claude"),
        (B, "", "us.anthropic.claude-sonnet-5", "bedrock-claude"),
    ],
)  # fmt: skip
def test_rules_are_chosen_by_format_host_and_model(surface: Surface, url: str, model: str, name: str) -> None:
    assert shipped().choose(surface, url, model).name == name
    host = url.split("/")[2] if url else ""
    fitting = [one.name for one in shipped() if one.match and one.match.admits(surface, host, model)]
    assert fitting == [name], "more than one rule fits"


@pytest.mark.parametrize(
    ("surface", "url", "model"),
    [
        (C, "http://127.0.0.1:8000/v1/chat/completions", "gpt-4o"),
        (C, "https://llm.house.example/v1/chat/completions", "gpt-4o"),
        (C, "", "llama-3.3-70b"),
        (C, "", None),
        (M, "", "gpt-5.5"),
        (C, "https://api.openai.com/v1/chat/completions", "claude-sonnet-5"),
    ],
)
def test_where_no_rule_fits_nothing_is_guessed(surface: Surface, url: str, model: str | None) -> None:
    with pytest.raises(NoRulesError, match="cannot evaluate: no rules for model") as caught:
        shipped().choose(surface, url, model)
    assert caught.value.exit_code == 3
    assert (model or "none named") in str(caught.value)


@pytest.mark.parametrize(
    ("surface", "model", "proposed"),
    [
        (R, "gpt-5.5", "OpenAI's API: --rules openai-gpt-5.5"),
        (C, "openai/gpt-4o", "OpenAI's API: --rules openai-gpt-5.4"),
        (M, "claude-sonnet-5", "Anthropic's API: --rules anthropic-messages"),
        (C, "anthropic/claude-sonnet-5", "OpenRouter's API: --rules openrouter-claude"),
        (
            M,
            "us.anthropic.claude-sonnet-5",
            "Amazon Bedrock's API: --rules bedrock-claude, or Vertex AI's API: --rules vertex-claude",
        ),
    ],
)
def test_behind_a_gateway_the_rules_are_proposed_by_name(surface: Surface, model: str, proposed: str) -> None:
    with pytest.raises(NoRulesError) as caught:
        shipped().choose(surface, "http://127.0.0.1:8766/v1/x", model)
    assert f" at 127.0.0.1; if this stands in front of {proposed} (" in str(caught.value)


@pytest.mark.parametrize(
    ("surface", "url", "model"),
    [
        (C, "http://127.0.0.1/v1/x", "llama-3.3-70b"),
        (C, "http://127.0.0.1/v1/x", None),
        (M, "http://127.0.0.1/v1/x", "gpt-5.5"),
        (C, "http://127.0.0.1/v1/x", "mistral-large-latest"),
        (C, "", "anthropic/claude-sonnet-5"),
    ],
)
def test_nothing_is_proposed_where_no_settled_rule_fits(
    surface: Surface, url: str, model: str | None
) -> None:
    with pytest.raises(NoRulesError, match="name some with --rules") as caught:
        shipped().choose(surface, url, model)
    assert caught.value.elsewhere == ()


def test_contested_rules_are_used_only_by_name() -> None:
    with pytest.raises(ContestedRulesError, match="--rules mistral") as caught:
        shipped().choose(C, "https://api.mistral.ai/v1/chat/completions", "mistral-large-latest")
    assert caught.value.exit_code == 3
    assert shipped().named("mistral").status is Status.CONTESTED


def test_a_missing_minimum_is_told_and_can_be_given() -> None:
    rules = shipped().named("anthropic-messages")
    with pytest.raises(
        MissingParameterError, match="know no minimum for model claude-x; give one with --set"
    ):
        simulator(rules, rules.parameters_for("claude-x"), model="claude-x")
    settled = simulator(rules, with_parameters(rules.parameters_for("claude-x"), {"minimum": "1024"}))
    asked = CacheRequest("a", [1_024], writes=(Write(0),))
    assert settled.observe(asked).written == 1_024


def test_the_openai_minimum_and_steps_are_the_guides() -> None:
    old, mid, new = (shipped().named(f"openai-gpt-{n}").parameters for n in ("5.4", "5.5", "5.6"))
    assert (old.minimum, old.granularity, old.interval) == (1_024, 128, None)
    assert (mid.minimum, mid.granularity, mid.interval, mid.ttl) == (1_024, 128, 2_048, 86_400)
    assert (new.minimum, new.ttl, new.max_explicit_writes) == (1_024, 1_800, 3)
    assert (new.first_probes, new.latest_probes, new.earlier_probes) == (2, 50, 20)
    point = next(point for point in shipped().named("openai-gpt-5.6").contested)
    assert (point.parameter, point.values) == ("latest_probes", (50, 80))


def test_a_users_file_adds_rules_and_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "house.toml"
    file.write_text(OWN)
    registry = shipped().with_files([file])
    assert registry.choose(C, "https://llm.house.example/v1/x", "gpt-4o").name == "house"
    assert registry.choose(C, "", "gpt-4o").name == "house"
    assert registry.choose(C, "https://api.openai.com/v1/x", "gpt-4o").name == "openai-gpt-5.4"
    assert len(list(registry)) == len(list(shipped())) + 1


def test_a_users_file_replaces_rules_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(OWN.replace('name = "house"', 'name = "openai-gpt-5.4"'))
    registry = shipped().with_files([tmp_path])
    assert registry.named("openai-gpt-5.4").parameters.minimum == 256
    assert len(list(registry)) == len(list(shipped()))
    with pytest.raises(NoRulesError):
        registry.choose(C, "https://api.openai.com/v1/x", "gpt-4o")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("minimum = 256", "minimum = -1"), "parameters.minimum"),
        (("minimum = 256", "minimun = 256"), "parameters.minimun"),
        (('status = "measured"', 'status = "certain"'), "status"),
        (("as_of = 2026-11-30", ""), "as_of"),
        (('"longest_prefix"', '"written_entries"'), "needs the parameter placement"),
        (('name = "house"', "name = house"), "Invalid value"),
        (('name = "house"', 'name = "My House"'), "name"),
        (("[parameters]", '[[contested]]\nparameter = "colour"\nnote = "?"\n[parameters]'), "colour"),
        (("[parameters]", '[[models]]\nmodels = ["*"]\nset = { ttl = "long" }\n[parameters]'), "ttl"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(change: tuple[str, str], told: str) -> None:
    assert change[0] in OWN
    with pytest.raises(RuleFileError, match=r"house\.toml: these cache rules cannot be used") as caught:
        read_rules(OWN.replace(*change).encode(), "house.toml")
    assert told in str(caught.value)


def test_paths_that_hold_no_rules_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.toml"):
        with pytest.raises(RuleFileError):
            shipped().with_files([path])


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        UnknownRulesError, match="--rules house: no such rules; there are anthropic-messages, "
    ):
        Registry(shipped()).named("house")


def test_parameters_are_given_as_text() -> None:
    given = {
        "ttl": "3600",
        "capacity": "none",
        "touch": "tail_first",
        "tiers.tools": '["x"]',
        "sliding": "false",
    }
    found = with_parameters(Parameters(capacity=7), given)
    assert (found.ttl, found.capacity, found.touch, found.tiers.tools, found.sliding) == (
        3_600, None, "tail_first", ("x",), False
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [("colour", "red", "no such parameter"), ("ttl", "long", "a number is expected"),
     ("granularity", "0", "1 or more"), ("ttl.x", "1", "no such parameter"),
     ("reliability", "2", "1 or less")],
)  # fmt: skip
def test_wrong_parameters_are_refused(name: str, value: str, told: str) -> None:
    with pytest.raises(ParameterError, match=told) as caught:
        with_parameters(Parameters(), {name: value})
    assert str(caught.value).startswith(f"--set {name}: ")
