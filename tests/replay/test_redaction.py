"""Secrets: which values are, in which spellings, and that nothing else moves."""

from __future__ import annotations

import json
from itertools import product
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.reference.prefix.key_shapes import KEY_SHAPES
from coldturn.reference.prefix.secrets import keys_in
from coldturn.replay.capture.redaction import Redaction
from coldturn.replay.errors import SecretVariableError

# Made up, and put together here so that no scanner takes this file for a leak.
SAMPLES = {
    "anthropic_key": ["sk-ant-" + "api03-" + "aB3_" * 20],
    "openai_key": ["sk-" + "proj-" + "aB3-_" * 20, "sk-" + "svcacct-" + "Q7" * 20],
    "langfuse_key": ["pk-" + "lf-" + "0123abcd-" * 4],
    "openrouter_key": ["sk-" + "or-v1-" + "0f" * 32],
    "sk_key": ["sk-" + "aB3" * 16, "sk-" + "live-" + "aB3" * 8],
    "stripe_key": ["sk_" + "live_" + "aB3" * 8],
    "github_token": ["ghp_" + "aB3x" * 9, "github_" + "pat_" + "11ABC_" * 10],
    "gitlab_token": ["gl" + "pat-" + "aB3-x" * 4],
    "aws_access_key_id": ["AKIA" + "ABCDEFGH23456789"],
    "aws_secret_key": ["aB3/+" * 8],
    "aws_session_token": ["aB3/+=" * 20],
    "google_key": ["AIza" + "aB3-_" * 7],
    "google_token": ["ya29." + "aB3-_." * 8, "GOC" + "SPX-" + "aB3-" * 7],
    "slack_token": ["xox" + "b-" + "123456789012-abcDEF", "xapp" + "-1-" + "A012-34567-" * 3],
    "slack_webhook": ["T0123ABCD/B0123ABCD/" + "aB3x" * 6],
    "jwt": [".".join(["ey" + "JhbGciOiJIUzI1NiJ9", "ey" + "JzdWIiOiIxMjM0In0", "aB3-_" * 8])],
    "bearer_token": ["aB3._~+/-" * 4 + "=="],
    "basic_login": ["dXNlcjpwYXNz"],
    "huggingface_token": ["hf_" + "aBcD" * 9],
    "npm_token": ["npm_" + "aB3x" * 9],
    "pypi_token": ["pypi-" + "AgEIcHlwaS5vcmc" + "aB3-_" * 12],
    "sendgrid_key": ["SG." + "aB" * 11 + "." + "c" * 43],
    "groq_key": ["gsk_" + "aB3x" * 13],
    "xai_key": ["xai-" + "aB3x" * 20],
    "perplexity_key": ["pplx-" + "aB3x" * 12],
    "replicate_token": ["r8_" + "a" * 37],
    "notion_token": ["ntn_" + "aB3x" * 11],
    "linear_key": ["lin_" + "api_" + "aB3x" * 10],
    "digitalocean_token": ["dop_" + "v1_" + "0f" * 32],
    "vault_token": ["hvs." + "aB3-_" * 6],
    "databricks_token": ["dapi" + "0f" * 16],
    "atlassian_token": ["ATATT" + "3" + "aB3-_=" * 20],
    "langsmith_key": ["lsv2_" + "pt_" + "0f" * 16 + "_" + "0f" * 5],
    "google_auth_key": ["AQ." + "Ab8" + "aB3-_" * 9],
    "tavily_key": ["tvly-" + "dev-" + "aB3x" * 8],
    "pinecone_key": ["pcsk_" + "aB3x_" * 12],
    "nvidia_key": ["nvapi-" + "aB3-_" * 12],
    "cerebras_key": ["csk-" + "aB3x" * 12],
    "elevenlabs_key": ["sk_" + "0f" * 24],
    "stripe_webhook_secret": ["whsec_" + "aB3x" * 8],
    "shopify_token": ["shpat_" + "0f" * 16],
    "supabase_token": ["sbp_" + "0f" * 20, "sb_" + "secret_" + "aB3-_" * 5],
    "figma_token": ["figd_" + "aB3-_" * 8],
    "grafana_token": ["glsa_" + "aB3x" * 8 + "_" + "0f" * 4, "glc_" + "eyJ" + "aB3x" * 12],
    "sentry_token": ["sntryu_" + "0f" * 32, "sntrys_" + "eyJ" + "aB3x" * 12],
    "doppler_token": ["dp." + "pt." + "aB3x" * 10, "dp." + "st.dev." + "aB3x" * 10],
    "telegram_token": ["1234567890:" + "AA" + "aB3-_x" * 5 + "aB3"],
    "age_key": ["AGE-" + "SECRET-KEY-1" + "QP" * 29],
    "azure_storage_key": ["aB3/" * 21 + "=="],
    "url_password": ["pa55word!"],
    "private_key": ["MIIEvQIBADANBgkqhkiG9w0BAQ\\nEFAASCBKcwggSjAgEAAoIBAQDX\\n"],
}
AROUND = {
    "aws_secret_key": ['"SecretAccessKey": "{}"', "AWS_SECRET_ACCESS_KEY={}", 'secret_access_key = \\"{}\\"'],
    "aws_session_token": ["aws_session_token = {}", '"SessionToken":"{}"'],
    "slack_webhook": ["https://hooks.slack.com/services/{}"],
    "bearer_token": ["Authorization: Bearer {}", "bearer%20{}"],
    "basic_login": ['"authorization": "Basic {}"', "Authorization: Basic {}"],
    "azure_storage_key": ["AccountKey={};EndpointSuffix=x"],
    "url_password": ["postgres://admin:{}@db.example:5432/x"],
    "private_key": [
        "-----BEGIN RSA PRIVATE KEY-----{}-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----{}",
    ],
}


@pytest.mark.requirement("REC-6")
@pytest.mark.parametrize("kind", [shape.name for shape in KEY_SHAPES])
def test_every_shape_is_found_wherever_it_stands(kind: str) -> None:
    before = ["", "see ", '{"a":"', "line\\n", "line\\\\n", "a%20", "\\u001b[31m", "\u00e9", "(", "x=1&k="]
    for around, key, text in product(before, SAMPLES[kind], AROUND.get(kind, ["{}"])):
        whole = around + text.format(key) + '", "input_tokens": 12}'
        redaction = Redaction()
        assert redaction.masked(whole.encode()).decode() == whole.replace(key, "*" * len(key))
        assert kind in redaction.counts


@pytest.mark.requirement("REC-6")
@pytest.mark.parametrize(
    "text",
    [
        '{"input_tokens": 12345, "maxTokens": 64000, "progressToken": "0123456789abcdef0123456789abcdef"}',
        '{"cursor": "eyJvZmZzZXQiOjEwMCwibGltaXQiOjUwfQ", "etag": "d41d8cd98f00b204e9800998ecf8427e"}',
        "sk-estimator-id-1 sk-container-id-12 div.sk-toggleable__label-arrow:before",
        "task-force-one-of-the-many-2024-reports-are-here",
        "a risk-assessment-20240101-of-all-things",
        "API_KEY=abcd1234efgh5678 password: hunter2hunter2 key-" + "0f" * 16 + " ?token=abcd1234efgh&page=2",
        "Bearer authentication is required here: Bearer $ANTHROPIC_API_KEY or Bearer <your-token-goes-here>",
        "git commit 9fceb02d0ae598e95dc970b74767f19372d61af8; sha256:" + "0f" * 32,
        "https://user@host/path http://host:8080/a@b postgres://${USER}:${PASSWORD}@db/x",
        "AKIA is how access key ids begin; ghp_ is how tokens begin; sk-ant-... is Anthropic's",
        '"encrypted_content": "gAAAAABo' + "aB3-_" * 60 + '"',
        '"data": "iVBORw0KGgo' + "AIza/AKIA+aB3" * 40 + '="',
    ],
)
def test_what_is_no_key_stays(text: str) -> None:
    assert Redaction().masked_text(text) == text


SECRETS = st.text(min_size=8, max_size=40).filter(lambda text: text.strip("*") and len(set(text)) > 3)


@pytest.mark.requirement("REC-6")
@given(secret=SECRETS, before=st.text(max_size=10), behind=st.text(max_size=10))
def test_an_exact_value_goes_in_every_spelling_and_offsets_stay(
    secret: str, before: str, behind: str
) -> None:
    try:
        secret.encode()
    except UnicodeEncodeError:
        return
    nested = json.dumps({"in": secret})
    whole = [
        json.dumps({"a": secret, "b": nested}),
        json.dumps({"a": secret, "b": nested}, ensure_ascii=False),
        f"https://host/{quote(secret)}?a={quote(secret, safe='')}&b={quote_plus(secret)}",
    ]
    for text in whole:
        data = f"{before}{text}{behind}".encode("utf-8", "surrogatepass")
        masked = Redaction([secret], shapes=False).masked(data)
        assert len(masked) == len(data)
        for spelt in (secret, json.dumps(secret)[1:-1], quote(secret, safe=""), quote_plus(secret)):
            assert spelt.encode() not in masked


@pytest.mark.requirement("REC-6")
@given(st.binary(max_size=400))
def test_no_body_changes_its_length_and_a_clean_one_stays_clean(body: bytes) -> None:
    redaction = Redaction(["named-secret"])
    masked = redaction.masked_body(body)
    assert len(masked) == len(body)
    assert redaction.masked_body(masked) == masked


def _event(surface: str, piece: str) -> dict[str, object]:
    match surface:
        case "messages":
            return {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": piece}}
        case "arguments":
            return {"type": "content_block_delta", "index": 0, "delta": {"partial_json": piece}}
        case "chat":
            return {"choices": [{"index": 0, "delta": {"content": piece}}]}
        case _:
            return {"type": "response.output_text.delta", "output_index": 0, "delta": piece}


def _events(surface: str, pieces: list[str]) -> bytes:
    return b"".join(b"data: " + json.dumps(_event(surface, piece)).encode() + b"\n\n" for piece in pieces)


@pytest.mark.requirement("REC-6")
@pytest.mark.parametrize("surface", ["messages", "arguments", "chat", "responses"])
def test_a_key_that_is_streamed_in_pieces_is_found(surface: str) -> None:
    key = SAMPLES["anthropic_key"][0]
    pieces = ["the key\n", key[:5], key[5:11], key[11:40], key[40:] + " is", " here"]
    body = _events(surface, pieces)
    masked = Redaction().masked_body(body)
    assert masked == _events(
        surface, ["the key\n", *("*" * len(p) for p in pieces[1:4]), "*" * len(key[40:]) + " is", " here"]
    )
    other = _events(surface, ["sk-", "ant", "arctica is cold in winter, and long"])
    assert Redaction().masked_body(other) == other


def test_variables_that_hold_no_secret_are_refused() -> None:
    for environment in ({}, {"KEY": ""}, {"KEY": "short"}):
        with pytest.raises(SecretVariableError, match="KEY"):
            Redaction.of_variables(["KEY"], environment)
    redaction = Redaction.of_variables(["KEY"], {"KEY": "long-enough"})
    assert redaction.masked(b"is long-enough.") == b"is ***********."
    assert redaction.counts == {"KEY": 1}


def test_credentials_of_headers_are_known_from_then_on() -> None:
    redaction = Redaction()
    redaction.learn(
        [("Authorization", "Bearer opaque/credential+1234"), ("x-api-key", "dummy"), ("x-other", "0" * 30)]
    )
    assert (
        redaction.masked(b"opaque/credential+1234 dummy " + b"0" * 30) == b"*" * 22 + b" dummy " + b"0" * 30
    )
    assert redaction.masked(quote("opaque/credential+1234", safe="").encode()) == b"*" * 26


def test_places_are_those_of_the_key_alone() -> None:
    data = b"a Bearer " + b"aB3x" * 8 + b", b"
    assert list(keys_in(data)) == [("bearer_token", 9, 41)]
