"""Orders passages with a cross-encoder on this machine, from sentence-transformers."""

import asyncio
import threading
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from engine.embed.local import cannot_load, readable_by_models
from engine.errors import SettingsError
from engine.messages import Message
from engine.rerank.remote import probabilities
from engine.types import ScoredText

_LIBRARY = "sentence_transformers"


class CrossEncoderReranker:
    """Runs a model that reads query and text together; it is loaded when first needed."""

    def __init__(self, model: str) -> None:
        """Raises SettingsError if no model is named or the library is not installed."""
        if not model:
            raise SettingsError(
                Message("[rerank] model is empty."),
                fix=Message("Name a cross-encoder that sentence-transformers can load."),
            )
        if find_spec(_LIBRARY) is None:
            raise SettingsError(
                Message("The library of the model {model!r} is not installed.", model=model),
                fix=Message("Run: pip install {package}", package="sentence-transformers"),
            )
        self.name = model
        self._lock = threading.Lock()
        self._loaded: Any = None

    async def rerank(self, query: str, texts: Sequence[ScoredText]) -> list[float]:
        """Return the model's score of each text, 0..1. Raises SettingsError."""
        if not texts:
            return []
        asked = readable_by_models(query)
        pairs = [(asked, readable_by_models(one.text)) for one in texts]
        return await asyncio.to_thread(self._scores, pairs)

    def _scores(self, pairs: list[tuple[str, str]]) -> list[float]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            found = self._loaded.predict(pairs)
        return probabilities([float(one) for one in found])

    def _load(self) -> Any:
        try:
            return import_module(_LIBRARY).CrossEncoder(self.name)
        except (ImportError, OSError, RuntimeError, ValueError) as exc:
            raise cannot_load(self.name, exc, fix=Message("Check rerank.model.")) from exc
