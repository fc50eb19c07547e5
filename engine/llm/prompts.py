"""The type of a prompt. Each prompt is defined next to the code that reads its answer."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The system prompt, what to add to it on repair, and the schema of the answer.

    A change of any text needs a new version: versions enter cache keys and logs.
    """

    version: str
    system: str
    repair: str
    schema: Mapping[str, object]
