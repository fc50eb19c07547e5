"""Threads of a corpus."""

from dataclasses import replace

from db.pool import Database
from db.search.shown import Threads
from engine.corpora import Document
from engine.values import Flag
from tests.db.loading import START, document, load


def said(number: int, thread: str | None, *, day: float, author: str = "ana") -> Document:
    return replace(
        document(str(number), f"word{number}", day=day, author=author),
        thread=thread,
        title=thread and thread.upper(),
    )


async def test_a_thread_is_read_in_order(database: Database) -> None:
    late = replace(
        said(1, "rain", day=2),
        role="me",
        url="https://a.example/",
        reply_to="2",
        attribution="export#1",
        flags=Flag.REPLY,
    )
    together = [said(3, "rain", day=1), said(2, "rain", day=1)]  # as the source has them
    corpus = await load(
        database, "c", [late, *together, said(4, "sun", day=1), said(5, None, day=1)]
    )
    messages = await Threads(database).read(corpus, "rain", limit=9)
    assert [message.external_id for message in messages] == ["3", "2", "1"]
    last = messages[-1]
    assert (last.created_at, last.author, last.role) == (late.created_at, "ana", "me")
    assert (last.text, last.url, last.reply_to) == ("word1", "https://a.example/", "2")
    assert (last.attribution, last.flags) == ("export#1", Flag.REPLY)
    assert await Threads(database).read(corpus, "rain", limit=2) == messages[:2]


async def test_a_thread_of_another_corpus_is_not_read(database: Database) -> None:
    await load(database, "other", [said(1, "rain", day=1)])
    corpus = await load(database, "c", [said(1, "sun", day=1)])
    assert await Threads(database).read(corpus, "rain", limit=9) == []


async def test_threads_are_listed_from_the_latest(database: Database) -> None:
    corpus = await load(
        database,
        "c",
        [
            said(1, "rain", day=1),
            said(2, "rain", day=9, author="bob"),
            said(3, "sun", day=5),
            said(4, None, day=10),
        ],
    )
    rain, sun = await Threads(database).list(corpus, limit=9)
    assert (rain.id, rain.title, rain.documents, rain.authors) == ("rain", "RAIN", 2, 2)
    assert rain.oldest and rain.newest
    assert ((rain.oldest - START).days, (rain.newest - START).days) == (1, 9)
    assert (sun.id, sun.documents, sun.authors) == ("sun", 1, 1)
    assert await Threads(database).list(corpus, limit=1) == [rain]


async def test_undated_threads_come_last(database: Database) -> None:
    texts = [said(1, "rain", day=2), said(2, "rain", day=1), said(3, "sun", day=1)]
    texts[0] = replace(texts[0], created_at=None)
    texts[2] = replace(texts[2], created_at=None)
    corpus = await load(database, "c", texts)
    threads = Threads(database)
    rain, sun = await threads.list(corpus, limit=9)
    assert (rain.id, rain.newest, sun.id, sun.newest) == ("rain", texts[1].created_at, "sun", None)
    read = await threads.read(corpus, "rain", limit=9)
    assert [one.created_at for one in read] == [texts[1].created_at, None]
