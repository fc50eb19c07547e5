"""Real tweets and headlines; recombined tweets and chunks of long texts to reach larger sizes."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from engine.corpora import Document
from engine.errors import RecordError
from engine.ingest.normalise import normalise
from engine.ingest.record_stream import open_source
from engine.ingest.records import Defaults, Reject, SourceRequest
from engine.prophecy.headline import read_headline
from engine.text.clean import make_searchable
from engine.values import Flag

DATA = Path(__file__).resolve().parents[1] / "../shared/data"
SEED = 20
# Assigned to documents at random, so that the share a filter passes is known.
RARE, RARE_SHARE = Flag.MEDIA, 0.05
COMMON, COMMON_SHARE = Flag.QUOTE, 0.20
_WINDOW = (6, 12)  # words
_CHUNK, _RUN = (240, 400), (40, 90)  # words: some 300 to 500 tokens


def tweets(path: Path, maximum: int | None = None) -> list[Document]:
    """Return the usable tweets of the first `maximum` records, numbered from 0 by date."""
    found = []
    with open_source(SourceRequest(str(path))) as stream:
        for record in islice(stream, maximum):
            if isinstance(record, Reject):
                continue
            try:
                found.append(normalise(record, Defaults()))
            except RecordError:
                continue
    found.sort(key=lambda document: (document.created_at, document.external_id))
    chance = random.Random(SEED)
    return [_numbered(document, number, chance) for number, document in enumerate(found)]


def grown(real: Sequence[Document], size: int) -> Iterator[Document]:
    """Yield `size` documents: the real ones, then recombined ones.

    A recombined document has the length of one real tweet and consists of windows of 6 to 12 words
    from others, so that word frequencies and co-occurrence stay realistic. The documents of a
    size are the first ones of every larger size.
    """
    yield from islice(real, size)
    chance = random.Random(SEED + 1)
    words = [document.search_text.split() for document in real]
    sources = [text for text in words if text]
    for number in range(len(real), size):
        length = len(chance.choice(words))
        mixed: list[str] = []
        while len(mixed) < length:
            source = chance.choice(sources)
            start = chance.randrange(max(1, len(source) - _WINDOW[0]))
            mixed += source[start : start + min(chance.randint(*_WINDOW), length - len(mixed))]
        text = " ".join(mixed)
        document = replace(chance.choice(real), text=text, search_text=text)
        yield _numbered(document, number, chance)


def chunks(real: Sequence[Document], size: int) -> Iterator[Document]:
    """Yield `size` chunks of long texts, made of runs of words from real tweets.

    A run goes on over consecutive tweets, which share subjects, so that words repeat within a chunk
    as they do in a text. The chunks of a size are the first ones of every larger size.
    """
    chance = random.Random(SEED + 2)
    words = [word for document in real for word in document.search_text.split()]
    for number in range(size):
        length = chance.randint(*_CHUNK)
        mixed: list[str] = []
        while len(mixed) < length:
            start = chance.randrange(max(1, len(words) - _RUN[1]))
            mixed += words[start : start + min(chance.randint(*_RUN), length - len(mixed))]
        text = " ".join(mixed)
        document = replace(chance.choice(real), text=text, search_text=text)
        yield _numbered(document, number, chance)


def headlines(path: Path, number: int) -> list[str]:
    """Return randomly chosen real headlines that contain words, as the search reads them."""
    with path.open(encoding="utf-8") as file:
        titles = [json.loads(line)["title"] for line in file]
    random.Random(SEED).shuffle(titles)
    texts = (make_searchable(read_headline(title).text) for title in titles)
    return list(islice((text for text in texts if text), number))


def _numbered(document: Document, number: int, chance: random.Random) -> Document:
    flags = RARE if chance.random() < RARE_SHARE else Flag.NONE
    flags |= COMMON if chance.random() < COMMON_SHARE else Flag.NONE
    return replace(document, external_id=str(number), digest=number, flags=flags)
