"""The passages for a question: the best texts of one corpus or several."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from engine.answer_types import Gathered, Passage, Question
from engine.fuse import fused
from engine.headline import read_headline
from engine.prophecy import Prophet
from engine.question_words import subject
from engine.score import Profile, level_hits
from engine.types import Corpus, Filters, Mode, Prophecy

_Key = tuple[str, int]


async def gather(
    prophet: Prophet,
    corpora: Sequence[Corpus],
    question: Question,
    *,
    limit: int,
    now: datetime,
    filters: Filters | None = None,
    mode: Mode | None = None,
) -> Gathered:
    """Return the best `limit` passages of all `corpora`.

    Within a corpus the prophet ranks, who asks no model here. A question that follows others is
    searched alone and together with the last of them, and the rankings are joined: "and in
    2015?" needs the words before it, a new subject does not. Raises the errors of the search index.
    """
    asked = [
        await prophet.prophesy(
            corpus,
            read_headline(text),
            limit=limit,
            now=now,
            filters=filters,
            judged=False,
            mode=mode,
        )
        for text in _texts(question)
        for corpus in corpora
    ]
    asked = _levelled(asked, prophet.profile)
    by_meaning = [one for one in asked if one.embedding_model]
    return Gathered(
        corpora=tuple(corpora),
        passages=_best(asked, len(corpora))[:limit],
        mode=by_meaning[0].mode if by_meaning else Mode.LEXICAL,
        embedding_model=by_meaning[0].embedding_model if by_meaning else None,
        notice=_notice(asked),
    )


def _levelled(asked: Sequence[Prophecy], profile: Profile) -> list[Prophecy]:
    """Make scores comparable: a corpus without vectors gains nothing beside one with them."""
    levelled = iter(level_hits([hit for one in asked for hit in one.hits], profile))
    return [replace(one, hits=tuple(islice(levelled, len(one.hits)))) for one in asked]


def _best(asked: Sequence[Prophecy], corpora: int) -> list[Passage]:
    """Join what `corpora` answered to the first text, to the next, and so on."""
    rankings: list[list[_Key]] = []
    known: dict[_Key, Passage] = {}
    for start in range(0, len(asked), corpora):
        found = [
            Passage(corpus=one.corpus, hit=hit)
            for one in asked[start : start + corpora]
            for hit in one.hits
        ]
        found.sort(key=lambda one: -round(one.hit.score, 9))  # stable: corpora as they are named
        rankings.append([_key(one) for one in found])
        for one in found:
            known[_key(one)] = _better(one, known)
    return [known[key] for key in fused(rankings)]


def _texts(question: Question) -> list[str]:
    own = subject(question.text)
    return [own, *(f"{subject(last)} {own}" for last in question.earlier[-1:])]


def _key(passage: Passage) -> _Key:
    return passage.corpus, passage.hit.candidate.id


def _better(one: Passage, known: Mapping[_Key, Passage]) -> Passage:
    other = known.get(_key(one))
    return other if other and other.hit.score >= one.hit.score else one


def _notice(found: Sequence[Prophecy]) -> str | None:
    """Return what the searches say, each thing once. That nobody judged goes without saying."""
    said = (one.notice.removesuffix("Not judged, as asked.").strip() for one in found if one.notice)
    return " ".join(dict.fromkeys(filter(None, said))) or None
