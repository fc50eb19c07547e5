"""Real headlines in feeds, real tweets in the corpus: from the bytes to the messages.

The stand-in model gives the judgments that people gave.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import orjson
import pytest

from bench.measures import read_headlines, read_qrels
from bot.app import open_app
from bot.settings import load_settings
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from engine.corpora import Document
from engine.ingest.normalise import normalise
from engine.ingest.record_stream import open_source
from engine.ingest.records import Defaults, Reject, SourceRequest
from engine.judge.judge import TEXT_LENGTH, cut_around
from engine.prophecy.headline import read_headline
from engine.text.clean import drop_links
from engine.values import Kind
from tests.fakes.model import scoring
from tests.fakes.web import feed, reply
from tests.scenarios.newsroom import HOUR, Newsroom, newsroom

pytestmark = pytest.mark.slow

GOOD = 5  # the judgment from which a chat is told by default
OTHERS = 80  # headlines that nobody has judged
SLICE = 8  # one of so many tweets that nobody has judged is in the corpus
NOBODY_CALLED = "\N{WORD JOINER}"  # between @ and a name
RSS, ATOM = "/news.rss", "/news.atom"


@dataclass
class Judged:
    """The labels that people gave to tweets: by headline, then by the text a judge is shown."""

    labels: Mapping[str, Mapping[str, int]]

    @property
    def foretold(self) -> dict[str, set[str]]:
        """The headlines that a tweet foretold, with the good tweets."""
        good = {
            headline: {text for text, label in labels.items() if label >= GOOD}
            for headline, labels in self.labels.items()
        }
        return {headline: texts for headline, texts in good.items() if texts}

    def judge(self, headline: str, candidate: Mapping[str, Any]) -> int:
        for title, labels in self.labels.items():
            if read_headline(title).text == headline:
                return labels.get(str(candidate["text"]), 0)
        return 0


def read(data: Path) -> tuple[Judged, list[Document]]:
    """Return what was judged, and a slice of the archive with all of it."""
    qrels = read_qrels(data / "judged" / "en.qrels.tsv")
    known = {tweet for labels in qrels.values() for tweet in labels}
    with open_source(SourceRequest(str(data / "tweets" / "trump_archive.jsonl"))) as stream:
        records = [record for record in stream if not isinstance(record, Reject)]
    documents = [
        normalise(record, Defaults())
        for number, record in enumerate(records)
        if number % SLICE == 0 or record.external_id in known
    ]
    texts = {document.external_id: document.text for document in documents}
    labels = {
        headline.headline: {
            cut_around(
                drop_links(texts[tweet]), read_headline(headline.headline).text, TEXT_LENGTH
            ): label
            for tweet, label in qrels.get(headline.qid, {}).items()
        }
        for headline in read_headlines(data / "judged" / "en.headlines.jsonl")
    }
    return Judged(labels), documents


async def fill(room: Newsroom, documents: Sequence[Document]) -> None:
    async with open_app(load_settings(environ=room.environ), progress=print) as app:
        corpus = await Corpora(app.database).ensure(
            "archive", kind=Kind.TWEETS, language="english", author="somebody"
        )
        await Documents(app.database).upsert(corpus, documents)


def atom(titles: Sequence[str]) -> str:
    entries = "".join(
        f"<entry><id>urn:news:{number}</id><title>{escape(title)}</title>"
        f'<link href="https://atom.example/{number}"/></entry>'
        for number, title in enumerate(titles)
    )
    namespace = 'xmlns="http://www.w3.org/2005/Atom"'
    return f"<?xml version='1.0'?><feed {namespace}><title>The Post</title>{entries}</feed>"


async def test_real_news_is_foretold_by_real_tweets(coffee_url: str, shared_data: Path) -> None:
    judged, documents = read(shared_data)
    lines = (shared_data / "headlines" / "en.jsonl").read_bytes().splitlines()
    others = [str(orjson.loads(line)["title"]) for line in random.Random(4).sample(lines, OTHERS)]
    titles = [*judged.labels, *others]
    async with newsroom(coffee_url, PRESAGIO_SEARCH__CORPUS="archive") as room:
        await fill(room, documents)
        room.model.script = [scoring(judged.judge)]
        room.feeds = (RSS, ATOM)
        room.web.pages |= {RSS: feed(), ATOM: reply(200, atom([]))}
        process = await room.process()
        for platform in ("telegram", "slack"):
            await room.subscribe(process, platform, best=10)
        await process.jobs.poll()
        room.clock.wind(HOUR)
        # Every story in the one feed or the other, and some in both.
        room.web.pages[RSS] = feed(*titles[::2])
        room.web.pages[ATOM] = reply(200, atom(titles[1::2] + titles[::10]))
        assert await process.jobs.poll() == 2
        await process.jobs.search()
        posts = await process.jobs.digest()
        await room.deliver(process)
        on_telegram = [message.text for message in room.group.bot_messages]
        on_slack = [message.visible for message in room.slack.bot_messages]

    assert posts == len(on_telegram) + len(on_slack)
    for said in (on_telegram, on_slack):
        posted = {title: text for title in titles for text in said if title in text}
        assert len(posted) == len(said), "one story a post, once"
        assert posted.keys() <= judged.foretold.keys(), (
            "nobody has judged the others to be foretold"
        )
        assert len(posted) >= 5
        for title, text in posted.items():
            shown = " ".join(text.replace(NOBODY_CALLED, "").split())
            assert any(tweet[:60] in shown for tweet in judged.foretold[title])
            assert "before" in shown
            assert "not judged" not in shown.lower()
