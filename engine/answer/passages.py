"""Retrieval of passages for a question: its subject, the years that it names ("since 2015"), and
the best texts of the corpora."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from engine.answer.cited_answer import GatheredPassages, Passage, Question
from engine.messages import join_messages, split_messages
from engine.prophecy.headline import read_headline
from engine.prophecy.prophecy import Prophet
from engine.prophecy.score import level_hits
from engine.ranking import fuse_rankings
from engine.search import Filters, Mode, SearchRequest
from engine.values import Corpus

_YEAR = r"((?:19|20)\d\d)(?![\d%.,]{0,8}\d)"
_RANGE = re.compile(
    rf"\b(?:between|from|entre|desde|de)\s+{_YEAR}\s+(?:and|to|until|y|a|al|hasta)\s+{_YEAR}"
    rf"|\b{_YEAR}\s?[-–—]\s?{_YEAR}",
    re.IGNORECASE,
)
_SINCE = re.compile(rf"\b(?:since|from|desde|a partir de)\s+{_YEAR}", re.IGNORECASE)
_AFTER = re.compile(rf"\b(?:after|despu[eé]s de|tras)\s+{_YEAR}", re.IGNORECASE)
_BEFORE = re.compile(rf"\b(?:before|antes de)\s+{_YEAR}", re.IGNORECASE)
_UNTIL = re.compile(rf"\b(?:until|till|up to|hasta)\s+{_YEAR}", re.IGNORECASE)
_DURING = re.compile(rf"\b(?:in|during|throughout|en|durante|en el año)\s+{_YEAR}", re.IGNORECASE)


def read_period(question: str) -> Filters | None:
    """Return the time that a question names in years, or None if it names none."""
    if match := _RANGE.search(question):
        first, last = sorted(int(year) for year in match.groups() if year)
        return _filter_years(first, last + 1)

    def find_year(*forms: tuple[re.Pattern[str], int]) -> int | None:
        matches = ((form.search(question), more) for form, more in forms)
        return next((int(match[1]) + more for match, more in matches if match), None)

    start, end = find_year((_SINCE, 0), (_AFTER, 1)), find_year((_BEFORE, 0), (_UNTIL, 1))
    years = sorted(int(match[1]) for match in _DURING.finditer(question))
    if start is None and end is None and years:
        return _filter_years(years[0], years[-1] + 1)
    return None if start is None and end is None else _filter_years(start, end)


def _filter_years(start: int | None, end: int | None) -> Filters | None:
    """Return the filter from the first day of one year to that of another; None if none is left."""
    if start is not None and end is not None and start >= end:
        return None
    after, before = (year and datetime(year, 1, 1, tzinfo=UTC) for year in (start, end))
    return Filters(after=after or None, before=before or None)


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
_WORDS = re.compile(r"[^\W_]+")
_ASKS = re.compile(  # in the words of a whole question
    r"(?:what(?! about\b| of\b)|who|whom|whose|which|when|where|why|how(?! about\b)|did|does|do|has"
    r"|have|had|was|were|is|are|qu[eé](?! hay de\b| tal\b)|qui[eé]n|qui[eé]nes|cu[aá]ndo|d[oó]nde"
    r"|c[oó]mo|cu[aá]l|cu[aá]les|por qu[eé]|alguna vez)\b"
)
_JOINS = re.compile(r"(?:and|but|or|also|so|y|e|o|u|pero|también|tambien)\b[\s,]*¿?\s*")
_LEANS = re.compile(  # on what was said before
    r"(?:what|how) (?:about|of)\b|qu[eé] (?:hay de|tal)\b"
    r"|(?:in|on|at|before|after|since|until|during|about|for|from|with|under|en|antes|después|despues"
    r"|desde|hasta|durante|sobre|con|para|de|del|and|but|or|also|y|pero|también|tambien)\b"
)
_REFERS = re.compile(
    r"\b(?:its?|them|(?<!is )(?<!are )(?<!was )(?<!were )there|the same|eso|esto|ello|aquello"
    r"|ah[ií]|all[ií]|allá|lo mismo|al respecto)\b"
    r"|\b(?:this|that|these|those)(?= (?:in|on|at|before|after|since|is|was|are|were)\b|\W*$)"
    r"|\b(?:then|too|either|instead|again|también|tambien|tampoco|entonces)\W*$"
)
# Words that tell nothing of a subject: "and in 2015?", "why exactly?", "¿y antes?"
_SMALL = """
    a an the of in on at by for from to with since until before after during around between and or
    but i you he she they we his her their year years month months week weeks day days time times
    today yesterday last first next later exactly often many much more most else
    january february march april may june july august september october november december
    y e o u pero de del al a en con para desde hasta antes después despues durante entre su sus le
    les lo más mas veces vez año años mes meses semana semanas día días hoy ayer último ultimo
    primero luego exactamente cuántas cuantas mucho
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
"""
_SMALL_WORDS = frozenset(_SMALL.split()) | _FRAME_WORDS


def extract_subject(question: str) -> str:
    """Return the subject of a question, or the question itself if nothing would be left.

    A capitalised word within the question is part of a name: "the songs of The Who".
    """

    def kept(match: re.Match[str]) -> str:
        word = match[0]
        framing = word.casefold() in _FRAME_WORDS and (
            word.islower() or match.start() <= _BEGINNING
        )
        return "" if framing else word

    rest = _WORD.sub(kept, question)
    return " ".join(rest.split()) if _LEFT.search(rest) else question


def stands_alone(question: str) -> bool:
    """Return whether a question can be understood without the one before it.

    "And in 2015?", "What about tea?" and "Did he like it?" cannot. Of a question in other words
    than those of English and Spanish, two words that tell something are enough.
    """
    plain = " ".join(question.casefold().split()).lstrip("¿ ")
    subject = _list_subject_words(plain)
    if not subject or _REFERS.search(plain):
        return False
    if _ASKS.match(_JOINS.sub("", plain, count=1) if _JOINS.match(plain) else plain):
        return True
    return len(subject) > 1 and not _LEANS.match(plain)


def _list_subject_words(question: str) -> list[str]:
    """Return the words that name a subject; a time is none."""
    words = _WORDS.findall(question.casefold())
    return [word for word in words if word not in _SMALL_WORDS and not word.isdigit()]


async def gather_passages(
    prophet: Prophet, corpora: Sequence[Corpus], question: Question, request: SearchRequest
) -> GatheredPassages:
    """Return the best passages of all `corpora`, as many as `request` limits them to.

    The subject of the question replaces the request's headline. Within a corpus, the prophet
    ranks, without calling a model. A question that cannot stand alone is searched both alone and
    together with the last one that names a subject, and the rankings are joined; one that names
    none, such as "and in 2015?", only together with that. Raises the errors of the search index.
    """
    request = replace(request, judged=False, passages=True)
    prophecies = [
        (text, await prophet.prophesy(corpus, replace(request, headline=read_headline(text))))
        for text in _list_search_texts(question)
        for corpus in corpora
    ]
    # Near texts may be sources too: whether they answer the question depends on what they say.
    found = [
        (text, prophecy.corpus, hit)
        for text, prophecy in prophecies
        for hit in (*prophecy.hits, *prophecy.near)[: request.limit]
    ]
    # Comparable scores: a corpus without vectors has no advantage.
    levelled = level_hits([hit for *_, hit in found], prophet.weights)
    by_text: dict[str, list[Passage]] = {}
    for (text, corpus, _), hit in zip(found, levelled, strict=True):
        by_text.setdefault(text, []).append(Passage(corpus=corpus, hit=hit))
    by_meaning = [prophecy for _, prophecy in prophecies if prophecy.embedding_model]
    notices = (part for _, each in prophecies for part in split_messages(each.notice))
    return GatheredPassages(
        corpora=tuple(corpora),
        passages=_join_rankings(by_text.values())[: request.limit],
        mode=by_meaning[0].mode if by_meaning else Mode.LEXICAL,
        embedding_model=by_meaning[0].embedding_model if by_meaning else None,
        notice=join_messages(*dict.fromkeys(notices)),
    )


def _join_rankings(found: Iterable[Sequence[Passage]]) -> list[Passage]:
    """Return the passages for several texts in one order, each with its best score."""
    rankings: list[list[tuple[str, int]]] = []
    best: dict[tuple[str, int], Passage] = {}
    for passages in found:
        # Stable: corpora in the order named.
        ordered = sorted(passages, key=lambda passage: -round(passage.hit.score, 9))
        keyed = [((each.corpus, each.hit.candidate.id), each) for each in ordered]
        rankings.append([key for key, _ in keyed])
        for key, passage in keyed:
            if key not in best or best[key].hit.score < passage.hit.score:
                best[key] = passage
    return [best[key] for key in fuse_rankings(rankings)]


def _list_search_texts(question: Question) -> list[str]:
    own = extract_subject(question.text)
    if not question.earlier or stands_alone(question.text):
        return [own]
    named = (turn for turn in reversed(question.earlier) if _list_subject_words(turn))
    together = f"{extract_subject(next(named, question.earlier[-1]))} {own}"
    return [own, together] if _list_subject_words(question.text) else [together]
