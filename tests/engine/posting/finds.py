"""Stories and what was found for them, to choose from."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from engine.feeds.feed import Story
from engine.posting.delivery import PostedTweet, StoryFind
from engine.search import Headline, Hit, HitKind, Prophecy, Term, Verdict
from tests.engine.candidates import candidate

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def story(number: int = 1, title: str | None = None, **changes: object) -> Story:
    title = title or f"Headline number {number}"
    values: dict[str, object] = {
        "id": number,
        "title": title,
        "text": title,
        "published": NOW - timedelta(hours=3),
        "first_seen_at": NOW - timedelta(hours=2),
    }
    return Story(**values | changes)  # type: ignore[arg-type]  # fields of Story


def hit(
    text: str = "a tweet",
    *,
    judgment: int | None = 6,
    lexical: float = 0.4,
    score: float = 0.8,
    matched: tuple[str, ...] = (),
    kind: HitKind | None = None,
) -> Hit:
    """A hit; its id follows from its text."""
    judged = None if judgment is None else judgment / 6
    return Hit(
        rank=1,
        candidate=candidate(1, text, external_id=f"id of {text}"),
        score=score,
        parts={"judgment": judged, "lexical": lexical},
        factors={},
        matched=matched,
        kind=kind,
    )


def prophecy(*hits: Hit, terms: tuple[Term, ...] = ()) -> Prophecy:
    """A prophecy with these hits in this order; judged where one of them is."""
    judged = any(one.parts["judgment"] is not None for one in hits)
    return Prophecy(
        headline=Headline(text="A headline", original="A headline"),
        corpus="demo",
        hits=tuple(replace(one, rank=rank) for rank, one in enumerate(hits, start=1)),
        terms=terms,
        candidates=(),
        verdict=Verdict(scores={1: 1} if judged else {}),
        coverage=0.5,
        notice=None,
    )


def find(number: int, *hits: Hit, of: Story | None = None) -> StoryFind:
    """What the corpus answered to the story of that number."""
    return StoryFind(id=number, story=of or story(number), corpus="demo", prophecy=prophecy(*hits))


def posted(
    text: str,
    *,
    story_id: int | None = 99,
    days_ago: float = 1,
    corpus: str = "demo",
    kind: HitKind | None = None,
    words: tuple[str, ...] = (),
    hits: tuple[str, ...] = (),
) -> PostedTweet:
    """A text that was told, of the news with these words, which `hits` foretold as well."""
    return PostedTweet(
        story_id=story_id,
        corpus=corpus,
        external_id=f"id of {text}",
        text=text,
        posted_at=NOW - timedelta(days=days_ago),
        kind=kind,
        words=words,
        hits=frozenset(f"id of {each}" for each in (text, *hits)),
    )
