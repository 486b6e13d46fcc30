"""What keys of well-known services look like.

Data, from the services' own documentation and the prefixes that secret scanners look for (GitHub's list of
supported patterns, gitleaks, detect-secrets); written for RE2, which takes time linear in the text. A pattern
is the key alone, or marks it with a group called ``key``. Only shapes that ordinary text does not have are
here, since recordings are masked by them: a value that merely stands behind a name such as ``token`` is none.
What is shown to a person is masked more (``shown_shapes``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyShape:
    """One kind of key.

    Attributes:
        name: What a person is told was found; an identifier.
        pattern: Of the key where it begins: what may stand in front of it is `BEFORE`.
        mixed: Whether it only counts when it holds a digit: without one it may be words.
    """

    name: str
    pattern: str
    mixed: bool = False


BEFORE = r"(?:^|[^A-Za-z0-9_\-]|\\[nrtbfv]|\\u00[01][0-9A-Fa-f]|%[0-9A-Fa-f]{2}|\[[0-9;]{1,8}m)"
"""In front of a key: the start, punctuation, or an escape that ends in a letter (JSON, URL, terminal)."""

_GAP = r"""["'\\\s:=>]{1,16}"""
PEM = r"(?:[A-Za-z0-9+/=:,\s]|\\+[nrt]|-[A-Za-z0-9])"
"""What stands between the lines that begin and end a key in armour, also where it is JSON."""

KEY_SHAPES = (
    KeyShape("anthropic_key", r"sk-ant-[A-Za-z0-9_\-]{16,}"),
    KeyShape("openai_key", r"sk-(?:proj|svcacct|admin|service|None)-[A-Za-z0-9_\-]{16,}"),
    KeyShape("langfuse_key", r"[sp]k-lf-[0-9a-f\-]{32,}"),
    KeyShape("openrouter_key", r"sk-or-v1-[0-9a-f]{20,}"),
    # OpenAI's older keys, DeepSeek, Moonshot, LiteLLM and many who copied the form.
    KeyShape("sk_key", r"sk-(?:[A-Za-z0-9]{1,8}-){0,2}[A-Za-z0-9]{20,}[A-Za-z0-9_\-]*", mixed=True),
    KeyShape("stripe_key", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    KeyShape("github_token", r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}"),
    KeyShape("gitlab_token", r"gl(?:pat|rt|ptt|dt|agent)-[A-Za-z0-9_\-]{20,}"),
    KeyShape("aws_access_key_id", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    KeyShape("aws_secret_key", rf"(?i:[a-z0-9_]*secret_?access_?key){_GAP}(?P<key>[A-Za-z0-9/+]{{40}})"),
    KeyShape("aws_session_token", rf"(?i:[a-z0-9_]*session_?token){_GAP}(?P<key>[A-Za-z0-9/+=]{{100,}})"),
    KeyShape("google_key", r"AIza[A-Za-z0-9_\-]{35}"),
    KeyShape("google_token", r"ya29\.[A-Za-z0-9_\-.]{30,}|GOCSPX-[A-Za-z0-9_\-]{28}|1//0[A-Za-z0-9_\-]{40,}"),
    KeyShape("slack_token", r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9\-]{10,}|xapp-[0-9]-[A-Za-z0-9\-]{20,}"),
    KeyShape("slack_webhook", r"hooks\.slack\.com/(?:services|workflows)/(?P<key>[A-Za-z0-9+/]{40,})"),
    KeyShape("jwt", r"eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}"),
    KeyShape("bearer_token", r"(?i:bearer)(?:\s|%20|\+)+(?P<key>[A-Za-z0-9._~+/\-]{20,}=*)", mixed=True),
    KeyShape("basic_login", rf"(?i:authorization){_GAP}(?i:basic)\s+(?P<key>[A-Za-z0-9+/]{{8,}}=*)"),
    KeyShape("huggingface_token", r"hf_[A-Za-z0-9]{30,}"),
    KeyShape("npm_token", r"npm_[A-Za-z0-9]{36}"),
    KeyShape("pypi_token", r"pypi-AgE[A-Za-z0-9_\-]{50,}"),
    KeyShape("sendgrid_key", r"SG\.[A-Za-z0-9_\-]{22}\.[A-Za-z0-9_\-]{43}"),
    KeyShape("groq_key", r"gsk_[A-Za-z0-9]{40,}"),
    KeyShape("xai_key", r"xai-[A-Za-z0-9]{60,}"),
    KeyShape("perplexity_key", r"pplx-[A-Za-z0-9]{40,}"),
    KeyShape("replicate_token", r"r8_[A-Za-z0-9]{37}"),
    KeyShape("notion_token", r"ntn_[A-Za-z0-9]{40,}"),
    KeyShape("linear_key", r"lin_(?:api|oauth)_[A-Za-z0-9]{40,}"),
    KeyShape("digitalocean_token", r"do[opr]_v1_[0-9a-f]{64}"),
    KeyShape("vault_token", r"hv[sb]\.[A-Za-z0-9_\-]{24,}"),
    KeyShape("databricks_token", r"dapi[0-9a-f]{32}"),
    KeyShape("atlassian_token", r"ATATT3[A-Za-z0-9_\-=]{100,}"),
    KeyShape("langsmith_key", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    # Google's newer keys; the prefix of the older ones is above.
    KeyShape("google_auth_key", r"AQ\.Ab[A-Za-z0-9_\-]{40,}"),
    KeyShape("tavily_key", r"tvly-(?:[a-z]{2,8}-)?[A-Za-z0-9]{24,}", mixed=True),
    KeyShape("pinecone_key", r"pcsk_[A-Za-z0-9_]{40,}"),
    KeyShape("nvidia_key", r"nvapi-[A-Za-z0-9_\-]{40,}"),
    KeyShape("cerebras_key", r"csk-[A-Za-z0-9]{40,}"),
    KeyShape("elevenlabs_key", r"sk_[0-9a-f]{48}"),
    KeyShape("stripe_webhook_secret", r"whsec_[A-Za-z0-9+/]{24,}={0,2}", mixed=True),
    KeyShape("shopify_token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    KeyShape("supabase_token", r"sbp_(?:oauth_|v0_)?[0-9a-f]{40}|sb_secret_[A-Za-z0-9_\-]{20,}"),
    KeyShape("figma_token", r"fig[dour]{1,2}_[A-Za-z0-9_\-]{40,}"),
    KeyShape("grafana_token", r"glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_eyJ[A-Za-z0-9+/=]{40,}"),
    KeyShape("sentry_token", r"sntryu_[0-9a-f]{64}|sntrys_eyJ[A-Za-z0-9+/=_\-]{40,}"),
    KeyShape("doppler_token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_\-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    KeyShape("telegram_token", r"[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}"),
    KeyShape("age_key", r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}"),
    KeyShape("azure_storage_key", r"AccountKey=(?P<key>[A-Za-z0-9+/]{80,}={0,2})"),
    KeyShape(
        "url_password", r"[A-Za-z][A-Za-z0-9+.\-]*://[^\s/:@\"'\\<>]{0,64}:(?P<key>[^\s/@\"'\\<>${}*]{6,})@"
    ),
    # RE2 knows no backreferences: the group ends where the armour's text does.
    KeyShape("private_key", rf"-----BEGIN [A-Z ]{{0,24}}PRIVATE KEY(?: BLOCK)?-----(?P<key>{PEM}{{32,}})"),
)
