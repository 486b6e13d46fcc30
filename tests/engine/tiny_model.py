"""A language model of random weights and a byte-level vocabulary, written as a GGUF file.

What it says is noise. What its engine reports of its cache is exact, and one token is one byte, so a count of
tokens can be held against a text.
"""

from __future__ import annotations

from pathlib import Path

TEMPLATE = (
    "{% for tool in tools %}<|im_start|>tool\n{{ tool | tojson }}<|im_end|>\n{% endfor %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{% if message.tool_calls %}{{ message.tool_calls | tojson }}{% endif %}<|im_end|>\n{% endfor %}"
    "{{ '<|im_start|>assistant\n' }}"
)
"""Tools, then system, then history, as the providers render them; `tojson` keeps the sent key order.

The markers are those of a well-known format: for others the engine derives a grammar of tool calls from the
template and may then refuse to parse it. They are no tokens of their own here.
"""

_WIDTH, _HEADS, _HIDDEN, _CONTEXT = 16, 1, 32, 1 << 20
_BLOCK_WEIGHTS = {
    "attn_q": (_WIDTH, _WIDTH),
    "attn_k": (_WIDTH, _WIDTH),
    "attn_v": (_WIDTH, _WIDTH),
    "attn_output": (_WIDTH, _WIDTH),
    "ffn_gate": (_HIDDEN, _WIDTH),
    "ffn_up": (_HIDDEN, _WIDTH),
    "ffn_down": (_WIDTH, _HIDDEN),
}


def write_tiny_model(path: Path) -> None:
    """Write a llama of one layer, 16 wide."""
    # Here, because only these tests need the extra `engine`.
    import gguf
    import numpy as np

    rng = np.random.default_rng(0)
    vocabulary = _vocabulary()
    kinds = [gguf.TokenType.NORMAL] * (len(vocabulary) - 1) + [gguf.TokenType.CONTROL]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_HIDDEN)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    writer.add_vocab_size(len(vocabulary))
    writer.add_tokenizer_model("gpt2")
    # Under "gpt-2" the engine drops spaces in front of some punctuation when it shows a text again.
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(vocabulary)
    writer.add_token_types(kinds)
    # A byte-pair vocabulary must merge something; byte 0xFF never stands in UTF-8.
    writer.add_token_merges(["ÿ ÿ"])
    writer.add_eos_token_id(len(vocabulary) - 1)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)

    def add(name: str, *shape: int, rows: range | None = None) -> None:
        values = (rng.standard_normal(shape) * 0.02).astype(np.float32)
        if rows is not None:
            values[: rows.start] = values[rows.stop :] = 0
        writer.add_tensor(name, values)

    add("token_embd.weight", len(vocabulary), _WIDTH)
    # It says letters only: text whatever stands around them, and never the beginning of a tool call.
    add("output.weight", len(vocabulary), _WIDTH, rows=range(ord("a"), ord("z") + 1))
    for name in ("output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"):
        writer.add_tensor(name, np.ones(_WIDTH, np.float32))
    for name, shape in _BLOCK_WEIGHTS.items():
        add(f"blk.0.{name}.weight", *shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _vocabulary() -> list[str]:
    """Name the 256 bytes as GPT-2's tokenizer does, then the merged pair and the end of a text."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [
        *(chr(byte) if byte in printable else chr(next(others)) for byte in range(256)),
        "ÿÿ",
        "<|eos|>",
    ]
