"""What can be set about answers to questions."""

from typing import Literal

from pydantic import Field

from bot.settings.section import Section


class AnswerSettings(Section):
    """How questions are answered: presagio ask, and /ask in a chat."""

    limit: int = Field(8, ge=1, le=20, description="Texts that an answer is made from.")
    uncited: Literal["drop", "mark"] = Field(
        "drop",
        description="What becomes of a sentence of the model that names no source: drop leaves it"
        " out, mark shows it with [?].",
    )
    passage_length: int = Field(
        1200, ge=100, le=10_000, description="Characters of a text that the model sees."
    )
    quotes: int = Field(
        3, ge=1, le=20, description="Sentences of an answer that no model has written."
    )
