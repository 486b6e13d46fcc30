"""Secrets that are masked where text is shown, and kept where it is recorded.

A name such as ``password`` says what stands behind it, in the spellings of JSON, YAML, env files, header
lines, command lines and addresses. Such names also stand in front of harmless values, which a recording must
keep; in what is shown, a few asterisks too many cost nothing. Shapes that ordinary ids may have are here too.
"""

from __future__ import annotations

from coldturn.reference.prefix.key_shapes import PEM, KeyShape

SHOWN_SHAPES = (
    # The third part may lie outside of what is searched.
    KeyShape(
        "long_jwt", r"eyJ[A-Za-z0-9_\-]{8,}\.(?:eyJ[A-Za-z0-9_\-]{8,}[A-Za-z0-9_\-.]*|[A-Za-z0-9_\-.]{60,})"
    ),
    KeyShape("fireworks_key", r"fw_[A-Za-z0-9]{22,}", mixed=True),
    KeyShape("twilio_key", r"SK[0-9a-f]{32}"),
    KeyShape("mailgun_key", r"key-[0-9a-f]{32}"),
    KeyShape("discord_token", r"[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,}"),
)

KEY_END = rf"(?P<key>{PEM}{{8,}})-----END [A-Z ]{{0,24}}PRIVATE KEY"
"""A private key whose beginning is not there."""

_TOKENS_FOR = (
    "access|refresh|auth|authorization|bearer|session|security|id|api|csrf|xsrf|service|bot|deploy|personal"
    "|private|secret|user|device|login|oauth|webhook"
)
_KEYS_FOR = (
    "access|private|signing|encryption|master|subscription|account|service|secret|auth|shared|consumer|storage"
    "|license|deploy|ssh|webhook"
)
_CERTAIN = (
    rf"api[-_.]?(?:key|secret)s?|(?:{_KEYS_FOR})[-_.]?key(?:[-_.]?id)?|(?:{_TOKENS_FOR})[-_.]?token"
    r"|secret(?:[-_.]?(?:value|string))?|passw(?:or)?d|passphrase|passcode|pwd|[-_]pass|[-_]pat|credentials?"
    r"|(?:proxy-)?authorization|(?:set-)?cookie"
)
_POSSIBLE = r"token|(?-i:[A-Z0-9]_KEY)"
_NUMBERED = r"(?:[-_.]?[0-9]{1,3}|[-_](?:prod|dev|test|staging|live|old|new|main|default|primary|secondary))?"
_ASSIGNED = r"(?::=|=>|==?|:)"
_BARE = r"([^\s\"'\\<>{\[*][^\s\"'\\<>]{5,})"
_QUOTED = r"(?:\\+[\"']([^\"'\\]{6,})|\"((?:[^\"\\]|\\.){6,})|'((?:[^'\\]|\\.){6,})|`([^`\\]{6,}))"
_PAIRED = r"\\*[\"']\s*,\s*(?:\\*[\"']value\\*[\"']\s*:\s*)?|\s+value:[ \t]*"
"""Between name and value in ``{"name": .., "value": ..}``, in a list of pairs, and in YAML of that kind."""

_SCHEME = r"(?:(?:bearer|basic|digest|token|negotiate|api-?key|key)[ \t]+)?"

NAMED = (
    "(?i)(?:"
    # Header lines: all of the line, which may hold several values.
    rf"(?:authorization|cookie)[ \t]*[:=][ \t]*{_SCHEME}([^\r\n\"'\\]{{6,}})"
    rf"|(?:{_CERTAIN}|({_POSSIBLE})){_NUMBERED}"
    rf"(?:(?:\\*[\"'`]?\]?\s{{0,8}}{_ASSIGNED}\s{{0,8}}|{_PAIRED}){_QUOTED}"
    rf"|(?:\\*[\"'`]?\]?[ \t]{{0,8}}{_ASSIGNED}[ \t]{{0,8}}|\s+value:[ \t]*){_BARE})"
    rf"|--[a-z\-]*(?:{_CERTAIN}|token)[ \t]+[\"']?{_BARE}"
    # A parameter of an address: credentials and signatures.
    r"|[?&;][a-z0-9_.\-]*(?:key|sig|signature|token|secret|password|passwd|pwd|auth|code|credential|session|jwt)"
    r"=([^&\s#\"'\\<>]{8,})"
    r"|login\s+\S+\s+password\s+(\S{4,})"
    r"|\s(?:-u|--user|--proxy-user)(?:[ \t]+|=)?\\*[\"']?[^\s:\"'\\/]{1,64}:([^\s\"'\\]{5,})"
    ")"
)
"""A credential's name, and its value, the last group; the second group is a name that may be harmless."""

HARMLESS = (
    # A variable, a place to fill in, or code that gets the value.
    r"\$\{?[A-Za-z_][A-Za-z0-9_.]*\}?[.,;:)]*|\$[({].*|<.*>?|\{\{.*|%[A-Za-z_]+%|(?:os\.environ|process\.env|import\.meta).*"
    # Code and words.
    r"|[A-Za-z]{1,16}(?:[._][A-Za-z]{1,16})+[.,;:()\[\]]*|[A-Za-z]{1,11}[.,;:()\[\]!?]*"
    r"|[A-Za-z']+(?:[,.]* +[A-Za-z']+)+[.,;:!?]*"
)
"""A value that is none, where nothing quotes it or its name says little."""
