"""A GGUF file of a few kilobytes with random weights: a real language model to llama.cpp, if a senseless one."""

from pathlib import Path

import gguf
import numpy as np

WIDTH, HEADS, LAYERS, HIDDEN, CONTEXT = 32, 2, 1, 64, 2048
TEMPLATE = (
    "{% for m in messages %}<s>{{ m['role'] }}\n{{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)


def write_tiny_gguf(path: Path, *, template: bool = False, space_prefix: bool = False, seed: int = 0) -> Path:
    """Write the file and return its path; with `template`, one of a model that follows instructions."""
    tokens = [b"<unk>", b"<s>", b"</s>", *(f"<0x{byte:02X}>".encode() for byte in range(256))]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL, *[gguf.TokenType.BYTE] * 256]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(space_prefix)
    if template:
        writer.add_chat_template(TEMPLATE)
    dice = np.random.default_rng(seed)

    def weights(*shape: int) -> np.ndarray:
        return dice.normal(0.0, 0.3, shape).astype(np.float32)

    writer.add_tensor("token_embd.weight", weights(len(tokens), WIDTH))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output.weight", weights(len(tokens), WIDTH))
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", weights(WIDTH, WIDTH))
        for name, shape in (("ffn_gate", (HIDDEN, WIDTH)), ("ffn_up", (HIDDEN, WIDTH)), ("ffn_down", (WIDTH, HIDDEN))):
            writer.add_tensor(f"blk.{layer}.{name}.weight", weights(*shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
