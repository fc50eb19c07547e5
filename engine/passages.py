"""The passages for a question: the best texts of one corpus or several."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from engine.answer_types import Gathered, Passage, Question
from engine.fuse import fused
from engine.headline import read_headline
from engine.prophecy import Prophet
from engine.question_words import subject
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
    rankings: list[list[_Key]] = []
    known: dict[_Key, Passage] = {}
    found: list[Prophecy] = []
    for text in _texts(question):
        passages: list[Passage] = []
        for corpus in corpora:
            prophecy = await prophet.prophesy(
                corpus,
                read_headline(text),
                limit=limit,
                now=now,
                filters=filters,
                judged=False,
                mode=mode,
            )
            found.append(prophecy)
            passages += [Passage(corpus=corpus.name, hit=hit) for hit in prophecy.hits]
        passages.sort(key=lambda one: -round(one.hit.score, 9))  # stable: corpora as they are named
        rankings.append([_key(one) for one in passages])
        for one in passages:
            known[_key(one)] = _better(one, known)
    return Gathered(
        corpora=tuple(corpus.name for corpus in corpora),
        passages=[known[key] for key in fused(rankings)[:limit]],
        mode=next((one.mode for one in found if one.mode is not Mode.LEXICAL), Mode.LEXICAL),
        embedding_model=next((one.embedding_model for one in found if one.embedding_model), None),
        notice=_notice(found),
    )


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
