"""Which terms are worth asking about."""

from engine.glossary.groups import frequent_terms, telling_terms
from engine.text.terms import Reading

WORDS = frozenset({"fed", "federal", "reserve", "the", "rates", "rise", "again", "of"})


def terms(*texts: str, minimum: int = 3) -> list[str]:
    return frequent_terms(texts, WORDS.__contains__, minimum=minimum)


def test_sampled_terms_keep_their_usual_spelling_most_frequent_first() -> None:
    texts = ["The Federal Reserve meets. rates rise"] * 3 + ["Rates rise", "rates"]
    found = terms(*texts)
    assert found[0] == "rates"
    assert {"Federal Reserve", "Federal", "Reserve", "meets"} <= set(found)
    assert "federal reserve" not in found


def test_protected_terms_links_handles_and_short_words_are_left_out() -> None:
    texts = ["FBI Obama camelCase snake_case @rates #rates https://x.io/rates is Barack Obama"] * 3
    texts += ["https://rates (x.io/rates) reserve.example/rates@rates @rates.io/rates"] * 3
    assert terms(*texts) == []


def test_stop_words_and_other_forms_of_a_word_fall_out() -> None:
    def reading(unit: int, lexeme: str) -> Reading:
        return Reading(
            unit=unit, language="english", lexeme=lexeme, position=1, document_frequency=1, max_tf=1
        )

    readings = [reading(0, "rate"), reading(2, "rate"), reading(3, "rise"), reading(4, "meet")]
    assert telling_terms(["rates", "the", "rate", "rise", "meet"], readings, 2) == ["rates", "rise"]
