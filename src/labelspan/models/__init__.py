"""Vectors of texts from language models: transformers in a folder, servers, and static models.

1. ``open_model(name)`` finds a model by its name in the local cache, by its folder or file, or by
   the address of a server, and returns a :class:`TextModel`. Nothing is downloaded unless that is
   asked for.
2. ``model.vectors(texts)`` computes vectors of texts of items, ``query=True`` those of queries,
   with what the model's own files say about pooling, prompts and the longest text.
3. ``VectorStore().vectors(model, texts)`` computes only what is not stored yet, batch by batch.

Nothing of the package is needed to load it; a transformer needs the extra ``model``.
"""

from .opening import cached_models, is_server, open_model
from .text_model import FunctionModel, TextModel
from .vector_store import VectorStore

__all__ = [
    "FunctionModel",
    "TextModel",
    "VectorStore",
    "cached_models",
    "is_server",
    "open_model",
]
