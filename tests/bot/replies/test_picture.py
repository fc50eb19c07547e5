"""The picture of a hit: what is on it, its caption, and the name of its file."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.i18n.words import words_for
from bot.replies.picture import PictureSubject, caption_picture, card_of, file_name, picture_answer
from engine.chat import Answer
from engine.values import Flag
from tests.bot.prophecies import NOW, make_hit, make_prophecy

SHOWN = PictureSubject(
    hit=make_hit(text="Coffee will be dear &amp; bad https://t.co/abc123"),
    corpus="demo",
    headline="Coffee prices soar",
    date=datetime(2016, 5, 1, tzinfo=UTC),
    link="https://www.bbc.co.uk/news/1",
)


@pytest.mark.parametrize(
    ("source", "link", "named"),
    [
        ("BBC News", "https://www.bbc.co.uk/news/1", "BBC News"),
        (None, "https://www.bbc.co.uk/news/1", "bbc.co.uk"),
        (None, None, ""),
        (None, "https://[broken", ""),
    ],
)
def test_the_source_is_the_feed_else_the_host(
    source: str | None, link: str | None, named: str
) -> None:
    card = card_of(replace(SHOWN, source=source, link=link), words_for("en"), footer="Presagio")
    assert (card.headline_source, card.headline_date) == (named, "May 1, 2016")
    assert card.footer == "Presagio"


@pytest.mark.parametrize(
    ("text", "flags", "author", "card"),
    [
        ("@luis is right", Flag.NONE, "ana", ("@luis is right", "", "@ana")),
        ("@luis is right", Flag.REPLY, "ana", ("is right", "", "@ana")),
        ("Coffee", Flag.NONE, None, ("Coffee", "demo", "")),
    ],
)
def test_a_text_without_an_author_is_signed_by_its_corpus(
    text: str, flags: Flag, author: str | None, card: tuple[str, str, str]
) -> None:
    subject = replace(SHOWN, hit=make_hit(text=text, flags=flags, author=author))
    drawn = card_of(subject, words_for("en"))
    assert (drawn.text, drawn.author, drawn.handle) == card


def test_a_pasted_link_is_the_source_of_its_headline() -> None:
    prophecy = make_prophecy(make_hit())
    headline = replace(prophecy.headline, original="look: https://www.lanacion.com.ar/x !")
    answer = Answer(prophecy=replace(prophecy, headline=headline), asked_at=NOW, first=0, last=1)
    assert card_of(picture_answer(answer), words_for("es")).headline_source == "lanacion.com.ar"


@pytest.mark.parametrize(
    ("headline", "name"),
    [
        ("Coffee prices soar!", "2014-03-01-coffee-prices-soar.png"),
        ("¿Subirá la inflación?", "2014-03-01-subira-la-inflacion.png"),
        ("word " * 40, "2014-03-01-" + "-".join(["word"] * 12) + ".png"),
        ("word " * 11 + "words", "2014-03-01-" + "word-" * 11 + "words.png"),
        ("../../etc/passwd", "2014-03-01-etc-passwd.png"),
        ("خبر", "2014-03-01.png"),
    ],
)
def test_picture_file_name_is_made_of_date_and_headline(headline: str, name: str) -> None:
    assert file_name(replace(SHOWN, headline=headline)) == name


def test_the_caption_has_the_headline_and_the_facts() -> None:
    reply = caption_picture(replace(SHOWN, number=2), b"PNG", words_for("en"))
    (item,) = reply.items
    assert (item.headline, item.link, item.hit.rank) == (SHOWN.headline, SHOWN.link, 2)
    assert reply.picture == b"PNG"
    assert reply.picture_name == "2014-03-01-coffee-prices-soar.png"
