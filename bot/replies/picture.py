"""The share picture of a hit: what is on it, its caption and its file name."""

import re
from dataclasses import dataclass, replace
from datetime import datetime

from bot.card import Card, Shape
from bot.i18n.words import Words
from bot.replies.limits import cut
from bot.replies.prophecy import hit_view
from bot.reply import Button, HitView, ItemView, Reply
from engine.chat import Answer
from engine.page.article import first_link
from engine.search import Hit
from engine.text.address import read_host
from engine.text.clean import normalise_form

_LONGEST_HEADLINE = 200
_LONGEST_NAME = 60
_APART = re.compile(r"[^a-z0-9]+")
_LEADING_MENTIONS = re.compile(r"(?:@\w{1,30}(?!['’\w])[\s,:;]*)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureSubject:
    """A hit and the headline that it foretold. The age of the hit is relative to `date`."""

    hit: Hit
    corpus: str
    headline: str
    date: datetime
    link: str | None = None  # of the headline; http(s)
    source: str | None = None  # who reported it; else the host of the link is named
    number: int | None = None  # in the caption; the rank of the hit if None


def picture_answer(answer: Answer) -> PictureSubject:
    """Return the first hit of an answer's page with its headline."""
    headline = answer.prophecy.headline
    return PictureSubject(
        hit=answer.page[0],
        corpus=answer.prophecy.corpus,
        headline=headline.text,
        date=headline.date or answer.asked_at,
        link=first_link(headline.original),
    )


def caption_picture(
    subject: PictureSubject,
    picture: bytes,
    words: Words,
    *,
    buttons: tuple[tuple[Button, ...], ...] = (),
) -> Reply:
    """Return a picture as a reply, with the headline and the facts as its caption."""
    hit = hit_view(subject.hit, subject.date, words)
    item = ItemView(
        headline=cut(" ".join(subject.headline.split()), _LONGEST_HEADLINE),
        link=subject.link,
        hit=replace(hit, rank=subject.number or hit.rank),
    )
    return Reply(
        words=words,
        items=(item,),
        picture=picture,
        picture_name=file_name(subject),
        buttons=buttons,
    )


def card_of(
    subject: PictureSubject,
    words: Words,
    *,
    avatar: bytes | None = None,
    footer: str = "",
    shape: Shape = Shape.LINK,
) -> Card:
    """Return what is on the picture; the voice always has a name, if only that of its corpus."""
    view = hit_view(subject.hit, subject.date, words)
    return replace(
        card_of_text(view, subject.corpus, words, avatar=avatar, footer=footer, shape=shape),
        headline=subject.headline,
        headline_source=subject.source or read_host(subject.link).removeprefix("www."),
        headline_date=words.date(subject.date),
    )


def card_of_text(
    view: HitView, corpus: str, words: Words, *, avatar: bytes | None, footer: str, shape: Shape
) -> Card:
    """Return what is on the picture of a text by itself."""
    return Card(
        text=drop_mentions(view.text, is_reply="reply" in view.flags),
        author=view.voice or ("" if view.author else corpus),
        handle=f"@{view.author.removeprefix('@')}" if view.author else "",
        date_text=view.date_text,
        lead_time_text=view.age,
        marks=view.marks(words),
        footer=footer,
        avatar=(avatar or b"") if view.voice else b"",  # others that the account quotes have none
        shape=shape,
        cut_text=words.say("shortened"),
        missing_text=words.say("Signs not drawn:"),
    )


def file_name(subject: PictureSubject) -> str:
    """Return a name under which the picture can be kept, such as 2012-03-14-ship-blocks-suez.png.

    It has ASCII letters, digits and hyphens alone; a headline in other letters leaves the date.
    """
    plain = normalise_form("NFKD", subject.headline).encode("ascii", "ignore").decode()
    words = _APART.sub("-", plain.lower()).strip("-")
    if len(words) > _LONGEST_NAME:
        words = words[:_LONGEST_NAME].rpartition("-")[0] or words[:_LONGEST_NAME]
    written = subject.hit.candidate.created_at
    day = written.date().isoformat() if written else ""
    return ("-".join(filter(None, (day, words))) or "prophecy") + ".png"


def drop_mentions(text: str, *, is_reply: bool) -> str:
    """Return a tweet without the accounts that it is addressed to, at its beginning.

    One that is the subject of the first sentence stays ("@ana is right") unless the text `is_reply`
    for sure, and a text of nothing but accounts keeps them.
    """
    match = _LEADING_MENTIONS.match(text)
    rest = text[match.end() :] if match else ""
    if match is None or not any(map(str.isalnum, rest)):
        return text
    addressed = is_reply or match[0].count("@") > 1 or match[0].rstrip()[-1] in ",:;"
    return rest if addressed or not rest[0].islower() else text
