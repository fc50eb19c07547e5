"""Readings of words, as an index makes them, for tests of the engine."""

from engine.text.terms import Reading


def reading(
    unit: int,
    lexeme: str,
    df: int = 1,
    *,
    language: str = "english",
    position: int = 1,
    tf: int = 1,
) -> Reading:
    return Reading(
        unit=unit,
        language=language,
        lexeme=lexeme,
        position=position,
        document_frequency=df,
        max_tf=tf,
    )
