"""Write the store in this folder again, with lightrag-hku 1.5.7 and a model that repeats what is written here.

    pip install lightrag-hku==1.5.7 && python write_store.py FOLDER

The tests read three files of the folder: the graph, the chunks and the documents.
"""

import asyncio
import sys
from pathlib import Path

import numpy as np
from lightrag import LightRAG
from lightrag.kg.shared_storage import initialize_pipeline_status
from lightrag.utils import EmbeddingFunc, Tokenizer

TEXTS = {
    "orchid.txt": "The Orchid Project was started by Mara Lindqvist in Lund. Its budget is paid by the Norrland Foundation.",
    "harbour.txt": "The harbour of Visby is run by the Norrland Foundation. Mara Lindqvist inspects the harbour of Visby every"
    " spring. Mara Lindqvist started the Orchid Project.",
    "": "Anna Berg repairs the harbour of Visby.",  # inserted without a file name
}
ORCHID = """entity<|#|>Orchid Project<|#|>Event<|#|>A project that was started in Lund.
entity<|#|>Mara Lindqvist<|#|>Person<|#|>The person who started the Orchid Project.
entity<|#|>Lund<|#|>Location<|#|>The town where the Orchid Project was started.
entity<|#|>Norrland Foundation<|#|>Organization<|#|>It pays the budget of the Orchid Project.
relation<|#|>Mara Lindqvist<|#|>Orchid Project<|#|>starting, leadership<|#|>Mara Lindqvist started the Orchid Project in Lund.
relation<|#|>Norrland Foundation<|#|>Orchid Project<|#|>funding<|#|>The Norrland Foundation pays the budget of the Orchid Project.
<|COMPLETE|>"""  # noqa: E501
HARBOUR = """entity<|#|>Harbour of Visby<|#|>Location<|#|>A harbour that is inspected every spring.
entity<|#|>Norrland Foundation<|#|>Organization<|#|>It runs the harbour of Visby.
entity<|#|>Mara Lindqvist<|#|>Person<|#|>She inspects the harbour of Visby.
entity<|#|>Orchid Project<|#|>Event<|#|>Mara Lindqvist started it.
relation<|#|>Norrland Foundation<|#|>Harbour of Visby<|#|>operation<|#|>The Norrland Foundation runs the harbour of Visby.
relation<|#|>Mara Lindqvist<|#|>Harbour of Visby<|#|>inspection<|#|>Every spring, an inspection takes place.
relation<|#|>Mara Lindqvist<|#|>Orchid Project<|#|>starting<|#|>Mara Lindqvist started the Orchid Project.
<|COMPLETE|>"""
REPAIR = """entity<|#|>Anna Berg<|#|>Person<|#|>She repairs the harbour.
entity<|#|>Harbour of Visby<|#|>Location<|#|>A harbour that is repaired.
relation<|#|>Harbour of Visby<|#|>Anna Berg<|#|>repair<|#|>Anna Berg repairs the Harbour of Visby.
<|COMPLETE|>"""


class Characters:
    """A tokenizer without files."""

    def encode(self, text):
        return [ord(one) for one in text]

    def decode(self, tokens):
        return "".join(map(chr, tokens))


async def reply(prompt, history_messages=(), **_given):
    """Return what was read from the text in the prompt."""
    text = prompt.split("Input Text")[-1]
    replies = {"Anna Berg": REPAIR, "every spring": HARBOUR, "Orchid": ORCHID}
    return "<|COMPLETE|>" if history_messages else next(reply for part, reply in replies.items() if part in text)


async def embed(texts, **_given):
    """Return vectors, which the tests do not need."""
    return np.eye(8)[[len(text) % 8 for text in texts]]


async def write(folder):
    """Write the store."""
    rag = LightRAG(
        working_dir=str(folder),
        llm_model_func=reply,
        embedding_func=EmbeddingFunc(embedding_dim=8, max_token_size=500, func=embed),
        tokenizer=Tokenizer("characters", Characters()),
        entity_extract_max_gleaning=0,
    )
    await rag.initialize_storages()
    await initialize_pipeline_status()
    for name, text in TEXTS.items():
        await rag.ainsert(text, file_paths=name or None)
    await rag.finalize_storages()


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1])))
