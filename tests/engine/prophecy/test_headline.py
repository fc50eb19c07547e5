"""What people paste is read as a headline."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.prophecy.headline import read_headline


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("  Coffee \n prices\tsoar  ", "Coffee prices soar"),
        ("Coffee prices soar - BBC News", "Coffee prices soar"),
        ("Coffee prices soar | Some Little Blog", "Coffee prices soar"),
        ("Coffee prices soar - npr.org", "Coffee prices soar"),
        ("Sube el precio del café - LA NACION", "Sube el precio del café"),
        ("Sube el precio del café | Página|12", "Sube el precio del café | Página|12"),
        ("BREAKING: Coffee prices soar", "Coffee prices soar"),
        ("Breaking News | Coffee prices soar", "Coffee prices soar"),
        ("Último momento: sube el café", "sube el café"),
        ("URGENTE | Sube el café en Brasil", "Sube el café en Brasil"),
        ("Coffee prices soar https://example.com/x?utm_source=y", "Coffee prices soar"),
        ("https://example.com/a Coffee prices www.example.com soar", "Coffee prices soar"),
        ("Coffee\0prices", "Coffee prices"),
        ("Coffee \u202esecirp\u202c so\u200bar\ufeff", "Coffee secirp soar"),
        ("Coffee prices soar again\n\nIn Brazil the harvest was bad.", "Coffee prices soar again"),
        ("BREAKING\n \nCoffee prices soar again\n\nMore", "Coffee prices soar again"),
        ("https://example.com/a", ""),
        (" \n ", ""),
    ],
)
def test_labels_links_and_sources_are_removed(message: str, text: str) -> None:
    assert read_headline(message).text == text


@pytest.mark.parametrize(
    "message",
    [
        "Trump says - it is over for good",
        "Brexit — what happens now that it is done",
        "Boca - River, el partido de la fecha",
        "One - BBC News",  # what is left would be no headline
        "Live and let die",
        'He said "never" - and meant -it-',
        "A | B",
        "¿Quién ganó? Macri | Fernández | Lavagna y muchos otros que no caben en un nombre",
        "🔥🔥🔥",
    ],
)
def test_text_that_only_resembles_a_label_is_kept(message: str) -> None:
    assert read_headline(message).text == message


def test_a_long_article_is_cut_after_a_whole_word() -> None:
    article = " ".join(f"word{i}" for i in range(2000))
    text = read_headline(article).text
    assert 1900 < len(text) <= 2000
    assert article.startswith(text + " ")


_pieces = st.sampled_from(
    ["Breaking:", "LIVE |", "Urgente:", "- BBC News", "| El País", "- - -", "|", "!", "café",
     "https://x.example/a", "soars", "Coffee", "·", "—", "😀", "\n", "news"]
)  # fmt: skip
_messages = st.lists(_pieces, max_size=10).map(" ".join) | st.text(max_size=300)


@given(_messages)
def test_a_message_with_words_is_never_emptied(message: str) -> None:
    without_links = " ".join(w for w in message.split() if "http" not in w and "www" not in w)
    text = read_headline(message).text
    if any(letter.isalnum() for letter in without_links):
        assert any(letter.isalnum() for letter in text)


@given(_messages)
def test_reading_a_headline_again_only_removes_text(message: str) -> None:
    text, again = read_headline(message).text, ""
    for _ in range(20):
        again = read_headline(text).text
        assert again in text
        if again == text:
            break
        text = again
    assert again == text
