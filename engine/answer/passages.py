"""Retrieval of passages for a question: its subject, and the best texts of the corpora."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from engine.answer.types import Gathered, Passage, Question
from engine.messages import Message, join_messages, split_messages
from engine.prophecy.headline import read_headline
from engine.prophecy.prophecy import NOT_ASKED, Prophet
from engine.prophecy.score import level_hits
from engine.ranking.fuse import fused
from engine.search import Mode, Prophecy, SearchRequest
from engine.types import Corpus

_FRAME = """
    what who whom whose which when where why how
    did does do has have had was were is are been being
    say says said saying tell tells told telling talk talks talked talking speak speaks spoke
    mention mentions mentioned write writes wrote written writing posted tweeted claimed think
    thinks thought opinion opinions feel feels felt
    about regarding concerning ever anything something someone anyone somebody anybody
    qué que quién quiénes quien cuándo cuando dónde donde cómo como cuál cuáles por
    dice dicen decir decía dijo dijeron dicho habla hablan habló hablaron hablar menciona mencionó
    escribe escribió escribieron escrito publicó publicaron tuiteó piensa piensan pensaba pensó
    opina opinan opinaba opinó opinión opiniones cree creen creía sobre acerca respecto alguna vez
    algo alguien
    es son era eran fue fueron ser está están ha han había hay el la los las un una unos unas
"""
_FRAME_WORDS = frozenset(_FRAME.split())
_WORD = re.compile(r"(?<![\w@#'’-])[^\W\d_]+(?![\w'’-])")
_BEGINNING = 1  # after an inverted question mark
_LEFT = re.compile(r"\w")


def subject(question: str) -> str:
    """Return the subject of a question, or the question itself if nothing would be left.

    A capitalised word within the question is part of a name: "the songs of The Who".
    """

    def kept(found: re.Match[str]) -> str:
        word = found[0]
        framing = word.casefold() in _FRAME_WORDS and (
            word.islower() or found.start() <= _BEGINNING
        )
        return "" if framing else word

    rest = _WORD.sub(kept, question)
    return " ".join(rest.split()) if _LEFT.search(rest) else question


_Key = tuple[str, int]


async def gather(
    prophet: Prophet,
    corpora: Sequence[Corpus],
    question: Question,
    request: SearchRequest,
) -> Gathered:
    """Return the best passages of all `corpora`, as many as `request` limits them to.

    The subject of the question replaces the request's headline. Within a corpus, the prophet
    ranks, without calling a model. A question that follows others is searched both alone and
    together with the last of them, and the rankings are joined: "and in 2015?" needs the words
    before it, a new subject does not. Raises the errors of the search index.
    """
    request = replace(request, judged=False, passages=True)
    asked = [
        await prophet.prophesy(corpus, replace(request, headline=read_headline(text)))
        for text in _texts(question)
        for corpus in corpora
    ]
    # Near texts may be sources too: whether they answer the question depends on what they say.
    asked = [replace(one, hits=(*one.hits, *one.near)[: request.limit]) for one in asked]
    asked = _levelled(asked, prophet.score.weights)
    by_meaning = [one for one in asked if one.embedding_model]
    return Gathered(
        corpora=tuple(corpora),
        passages=_best(asked, len(corpora))[: request.limit],
        mode=by_meaning[0].mode if by_meaning else Mode.LEXICAL,
        embedding_model=by_meaning[0].embedding_model if by_meaning else None,
        notice=_notice(asked),
    )


def _levelled(asked: Sequence[Prophecy], weights: Mapping[str, float]) -> list[Prophecy]:
    """Make scores comparable, so that a corpus without vectors has no advantage."""
    levelled = iter(level_hits([hit for one in asked for hit in one.hits], weights))
    return [replace(one, hits=tuple(islice(levelled, len(one.hits)))) for one in asked]


def _best(asked: Sequence[Prophecy], corpora: int) -> list[Passage]:
    """Join the answers of `corpora` corpora to the first text, to the next, and so on."""
    rankings: list[list[_Key]] = []
    known: dict[_Key, Passage] = {}
    for start in range(0, len(asked), corpora):
        found = [
            Passage(corpus=one.corpus, hit=hit)
            for one in asked[start : start + corpora]
            for hit in one.hits
        ]
        found.sort(key=lambda one: -round(one.hit.score, 9))  # stable: corpora in the order named
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


def _notice(found: Sequence[Prophecy]) -> Message | None:
    """Return the distinct notices of the searches, except that nothing was judged."""
    said = (part for one in found for part in split_messages(one.notice) if part != NOT_ASKED)
    return join_messages(*dict.fromkeys(said))
