"""Secrets of every shape, beside and across the edges of what is shown, are in no output."""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_runs import Run, runner
from coldturn.analysis.breaks.explain import explain
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.reference.prefix.secrets import blotted, blotted_sides, blotted_text
from coldturn.traces.readers import read_exchanges

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
PADDING = "You are careful.\n\n" + "Name your sources, and say so when you have none.\n" * 40
RULES = "\n## Rules\n" + "".join(f"{number}. Read before you write, then test.\n" for number in range(300))

Words = Callable[..., str]
"""Makes a random word of some letters."""

SHAPES: dict[str, Callable[[Words], tuple[str, str]]] = {
    # What stands around a secret, and the secret. Made up, and put together here.
    "anthropic": lambda w: ("{}", "sk-" + "ant-api03-" + w(90)),
    "langsmith": lambda w: ("{}", "lsv2_" + "pt_" + w(32, HEX) + "_" + w(10, HEX)),
    "aws": lambda w: ("{}", "AKIA" + w(16, string.ascii_uppercase)),
    "google": lambda w: ("{}", "AQ." + "Ab8" + w(47)),
    "tavily": lambda w: ("{}", "tvly-" + "dev-" + w(31) + "7"),
    "pinecone": lambda w: ("{}", "pcsk_" + w(70)),
    "nvidia": lambda w: ("{}", "nvapi-" + w(64)),
    "fireworks": lambda w: ("{}", "fw_" + w(23) + "7"),
    "elevenlabs": lambda w: ("{}", "sk_" + w(48, HEX)),
    "shopify": lambda w: ("{}", "shpat_" + w(32, HEX)),
    "telegram": lambda w: ("{}", w(10, "123456789") + ":AA" + w(33)),
    "discord": lambda w: ("{}", "M" + w(23) + ".G" + w(5) + "." + w(38)),
    "twilio": lambda w: ("{}", "SK" + w(32, HEX)),
    "mailgun": lambda w: ("{}", "key-" + w(32, HEX)),
    "age": lambda w: ("{}", "AGE-" + "SECRET-KEY-1" + w(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")),
    "jwt": lambda w: ("{}", f"eyJ{w(20)}.eyJ{w(9000)}.{w(43)}"),
    "private key": lambda w: ("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", w(1600)),
    "long private key": lambda w: (
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{}\n-----END PGP PRIVATE KEY BLOCK-----",
        "\n".join(w(64) for _ in range(200)),
    ),
    "end of a key": lambda w: ("{}\n-----END OPENSSH PRIVATE KEY-----", w(300)),
    "env": lambda w: ("API_KEY={}", w(32)),
    "vendor": lambda w: ("export AZURE_OPENAI_API_KEY='{}'", w(32, HEX)),
    "any key of env": lambda w: ("WANDB_KEY={}", w(40, HEX)),
    "env password": lambda w: ("DB_PASSWORD={}", w(16)),
    "password with signs": lambda w: ("DB_PASSWORD={}", w(16, LETTERS + "&;!%#@+,)-")),
    "yaml": lambda w: ("password: {}", w(16)),
    "yaml of pairs": lambda w: ("- name: DB_PASSWORD\n  value: {}", w(16)),
    "header": lambda w: ("x-api-key: {}", w(40)),
    "cookie": lambda w: ("Cookie: theme=dark; session={}", w(40)),
    "authorization": lambda w: ("Authorization: Token {}", w(30)),
    "member": lambda w: ('{{"token": "{}"}}', w(32)),
    "secret member": lambda w: ('{{"secret": "{}", "n": 1}}', w(24)),
    "cookie member": lambda w: ('{{"cookie": "session={}"}}', w(24)),
    "member with escapes": lambda w: ('{{"password": "\\"{}"}}', w(24)),
    "escaped member": lambda w: ('{{\\"clientSecret\\": \\"{}\\"}}', w(24)),
    "pair": lambda w: ('{{"name": "API_KEY", "value": "{}"}}', w(24)),
    "address": lambda w: ("https://x.example/v1?api_key={}&b=1", w(32)),
    "signature": lambda w: ("https://x.example/c?sv=2024&sig={}%3D", w(43)),
    "database": lambda w: ("postgres://admin:{}@db.example/x", w(14)),
    "curl": lambda w: ("curl -u admin:{} https://x.example", w(14)),
    "option": lambda w: ("deploy --access-token {} --now", w(30)),
    "netrc": lambda w: ("machine x.example login me password {}", w(16)),
}


def made(name: str, seed: int) -> tuple[str, str]:
    """What stands around a secret of a shape, and one, always the same for a seed."""
    rng = random.Random(f"{name} {seed}")  # noqa: S311 - made-up secrets of a test
    around, secret = SHAPES[name](lambda size, signs=LETTERS: "".join(rng.choices(signs, k=size)))
    return around, secret


def shows(secret: str, output: str) -> bool:
    """Whether eight characters of a secret, one after the other, are in an output."""
    return any(secret[at : at + 8] in output for at in range(max(len(secret) - 7, 0)))


def body(system: str) -> dict[str, Any]:
    return {
        "model": "m",
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": "q"}],
    }


def texts(value: object) -> Iterator[str]:
    """All strings of a JSON value."""
    if isinstance(value, dict):
        yield "".join(value.get(key) or "" for key in ("before", "was"))
        yield "".join(value.get(key) or "" for key in ("before", "now"))
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from texts(one)
    if isinstance(value, str):
        yield value


CHANGES = ["in front", "behind", "in the name", "in the secret", "another secret", "taken away"]


def changed(name: str, change: str, seed: int, between: str, at: float) -> tuple[str, str, list[str]]:
    """Two texts, and the secrets in them."""
    around, secret = made(name, seed)
    first, last = around.split("{}") if "{{" not in around else around.format("\0").split("\0")
    was = first + secret + last
    match change:
        case "in front":
            return f"at 09:01{between}{was}", f"at 09:02{between}{was}", [secret]
        case "behind":
            return f"{was}{between}at 09:01", f"{was}{between}at 09:02", [secret]
        case "in the name":
            return was, f"{first[:2]}Q{first[3:]}{secret}{last}", [secret]
        case "in the secret":
            place = int(at * (len(secret) - 1))
            other = f"{secret[:place]}{'Q' if secret[place] != 'Q' else 'W'}{secret[place + 1 :]}"
            return was, first + other + last, [secret, other]
        case "taken away":
            return was, between, [secret]
        case _:
            other = made(name, seed + 1)[1]
            return was, first + other + last, [secret, other]


@settings(deadline=None, max_examples=300)
@given(
    name=st.sampled_from(sorted(SHAPES)),
    change=st.sampled_from(CHANGES),
    seed=st.integers(0, 10_000),
    between=st.sampled_from([" ", "\n"]).flatmap(lambda sign: st.integers(1, 700).map(lambda n: sign * n)),
    at=st.floats(0, 1),
    front=st.integers(0, 60),
    context=st.sampled_from([0, 1, 20, 80, 81, 300, 3000, 20_000]),
)
def test_no_part_of_a_secret_is_shown(
    name: str, change: str, seed: int, between: str, at: float, front: int, context: int
) -> None:
    was, now, secrets = changed(name, change, seed, between, at)
    bodies = [body(f"{PADDING}{'.' * front}\n{text} .{RULES}") for text in (was, now)]
    lines = b"\n".join(json.dumps(one).encode() for one in bodies)
    report = explain(read_exchanges(lines, name="in"), PairOptions(context=context)).as_json()
    (found,) = report["lineages"][0]["breaks"]
    for secret in secrets:
        assert not any(shows(secret, text) for text in texts(report))
    for side in ("was", "now"):
        assert len(found[side]) <= context
        assert all(end <= len(found[side]) for _, end in found[f"{side}_changed"])


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


@pytest.mark.parametrize("change", ["behind", "in the secret"])
def test_no_output_of_the_program_shows_a_secret(run: Run, change: str) -> None:
    secrets: list[str] = []
    inputs = []
    for number, name in enumerate(SHAPES):
        was, now, made_up = changed(name, change, 1, " ", 0.5)
        secrets += made_up
        bodies = (body(f"{PADDING}{number} is it.\n{text} .{RULES}") for text in (was, now))
        path = Path(f"{number}.jsonl")
        path.write_text("".join(json.dumps(one) + "\n" for one in bodies), encoding="utf-8")
        inputs.append(str(path))
    outputs = [run("explain", *inputs, "--context", "120", *more).out for more in ((), ("--json",))]
    run("report", *inputs, "-o", "page.html", "--context", "400")
    outputs.append(Path("page.html").read_text(encoding="utf-8"))
    assert all("***" in output for output in outputs)
    for output in outputs:
        plain = re.sub(r"\[-|-\]|\{\+|\+\}", "", output)
        assert [secret for secret in secrets if shows(secret, plain)] == []


HEADING = "key sk-" + "ant-api03-" + "aB3" * 30


@pytest.mark.parametrize("content", [True, False])
def test_headings_hold_no_secrets_and_hidden_ones_are_of_the_system_text_alone(
    run: Run, content: bool
) -> None:
    """A key that is cut where a heading is gets hidden as well."""
    heading = f"# {'Client and project, ' * 5}{HEADING}"
    said = "# Payslip of J. Smith\n\nTotal: 1\n\n" + "A line of it.\n" * 40
    bodies = [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": f"{heading}\nTime 09:0{number // 2}\n{RULES}"},
                {"role": "user", "content": said.replace("1", str(number))},
                {"role": "user", "content": "Go on."},
            ],
        }
        for number in range(4)
    ]
    Path("in.jsonl").write_text("".join(json.dumps(one) + "\n" for one in bodies), encoding="utf-8")
    more = () if content else ("--no-content",)
    run("report", "in.jsonl", "-o", "page.html", *more)
    page = Path("page.html").read_text(encoding="utf-8")
    outputs = [page, *(run("explain", "in.jsonl", *more, *form).out for form in ((), ("--json",)))]
    for output in outputs:
        assert "Client and project" in output
        assert "aB3aB3aB" not in output
        assert "ant-api03" not in output
        assert ("J. Smith" in output) is content


@pytest.mark.parametrize(
    "text",
    [
        '"input_tokens": 12345678, "max_tokens": 20000000, "next_token": "the_next_token"',
        "The password: required for all. Token: the name of a token. Secret: see below.",
        'api_key=os.environ["OPENAI_API_KEY"], api_key: str | None = None, token=settings.token',
        "Authorization: Bearer ${TOKEN}, x-api-key: $ANTHROPIC_API_KEY, password: <your password>",
        'sort --key 2 -u names.txt; {"prompt_cache_key": "agent-7-of-12-2024", "session_id": "abc-123-def"}',
        '{"required": ["api_key", "endpoint_url"], "properties": {"password": {"type": "string"}}}',
        "https://x.example/search?page=2&query=some-long-words-1234 docker run -u 1000:1000 image",
    ],
)
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert blotted_text(text) == text


@given(st.text())
def test_a_text_keeps_its_length(text: str) -> None:
    for one in (text, f"password: {text}", f'"secret": "{text}"'):
        data = one.encode("utf-8", "replace")
        assert len(blotted(data)) == len(data.decode())


@given(front=st.text(), was=st.text(), now=st.text(), name=st.sampled_from(["", "password=", '"secret": "']))
def test_sides_keep_their_lengths(front: str, was: str, now: str, name: str) -> None:
    sides = [text.encode("utf-8", "replace") for text in (front + name, was, now)]
    shown = blotted_sides(sides[0], sides[1], sides[2])
    assert [len(one) for one in shown] == [len(side.decode()) for side in sides]


def test_the_parameter_behind_a_secret_one_is_shown() -> None:
    assert blotted_text("https://x.example/?api_key=abcd1234efgh&b=1").endswith("api_key=************&b=1")


def test_a_key_whose_end_is_far_behind_what_is_shown_is_found() -> None:
    """Bytes that are looked through are not the characters that are shown."""
    key = "xai-" + "aB3x" * 20
    bodies = [body(f"{PADDING}{number}{chr(0x1F600) * 68} {key} .{RULES}") for number in range(2)]
    lines = b"\n".join(json.dumps(one).encode() for one in bodies)
    report = explain(read_exchanges(lines, name="in"), PairOptions(context=80)).as_json()
    (found,) = report["lineages"][0]["breaks"]
    assert found["now"] == "1" + chr(0x1F600) * 68 + " " + "*" * 10
