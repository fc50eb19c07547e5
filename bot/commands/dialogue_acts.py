"""Reads what a message asks or tells the bot: its intent, and the command that does it, with the
text, subject, time, feed or person that it names."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import dropwhile

from bot.commands.headline_detection import is_in_title_case, is_laughter, looks_like_headline
from bot.commands.intents import (
    DialogueAct,
    Intent,
    IntentClassifier,
    count_words,
    load_classifier,
)
from bot.replies.dates import write_times
from engine.page.article import find_links
from engine.text.terms import FUNCTION_WORDS, folded_words

# How certain a question or an instruction must be. By the bot's name somebody waits for an answer;
# below its answers people talk to one another, and each word more makes chance more certain.
_LEAST_BY_NAME = (1.0, 1.0, 4.0)  # at least, for each word more, at most
_LEAST_IN_REPLY = (1.0, 2.0, 12.0)
_LEAST_OF_LOWER_NEWS, _LEAST_OF_NEWS = 10.0, 35.0  # what has the form of news
# What a model is asked about, if there is one: of 160 messages half, among them nine of ten of
# those that are taken for something else.
_MAYBE_SAID_TO_ME, _SURE_LEAD = -10.0, 20.0
# With a smaller lead, two of three instructions mean something else than they are taken for, in
# examples of other writers; with none, three of four.
_LEAST_LEAD = 5.0

_LONGEST = 1000  # characters of a question
_MAX_SUBJECT = 6  # words
_FILLS_GAP = 3  # words of no meaning of their own, within a subject
# Pictures of all that is posted, rather than of one text.
_PICTURES = re.compile(r"\b(?:picture|pic|photo|image|imagen|foto)(?:e?s)?\b")
_PICTURES_EACH = re.compile(
    r"\b(?:each|every|always|from now on|again|posts?|cada|tod[oa]s|siempre|de ahora en|de nuevo"
    r"|otra vez|publicaci\w+|posteos?|env[ií]os?)\b"
)
_RANKS = {"first": 1, "prim": 1, "second": 2, "segund": 2, "third": 3, "tercer": 3}
_RANKED = re.compile(
    rf"(?:{'|'.join(f'(?P<{stem}>{stem})' for stem in _RANKS)})(?:er)?[oa]?"
    r"|(?P<number>\d{1,2})(?:st|nd|rd|th|[rd][oa])?"
)
_WORD = re.compile(r"\w+(?:['’.-]\w+)*")
_LETTER = re.compile(r"[^\W\d_]")
_BREAK = re.compile(r"[,;:.?!()\n]")
_QUOTED = re.compile(r"[\"“«](.{1,80}?)[\"”»]")
# What subjects follow: "tweets about tea", "todo lo de Irán", "with the word rigged".
_BEFORE_SUBJECT = re.compile(
    r"\b(?:about|on|regarding|re:|mention\w*|contain\w*|with|word|says?|for|sobre|acerca de"
    r"|palabra|respecto de|con|del?|mencion\w+|dig(?:a|an|o))\s+(?=\S)",
    re.IGNORECASE,
)
_JOINS = frozenset(
    ("and", "but", "so", "ok", "wait", "well", "y", "e", "pero", "bueno", "oye", "hey")
)
_OTHER_LANGUAGES = re.compile(
    r"\b(?:german|french|portuguese|catalan|italian|galician|basque|dutch|polish|russian|arabic|chinese"
    r"|japanese|aleman|frances|portugues|italiano|gallego|euskera|vasco|ruso|arabe|chino|japones)\b"
)
_LABELS = re.compile(r"foretold|close|perhaps|score|anunciado|cercano|quiza|puntaje|puntuacion")
_TIME = re.compile(  # "7:30", "8 am", "22h"
    r"\b(\d{1,2})(?:[:.h](\d\d)|h)? ?([ap]m)?\b", re.IGNORECASE
)
# Days on which nothing is to come, and the only ones.
_DAYS = (
    r"weekends?|weekdays|fin(?:es)? de semana|findes?|entre semana"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|lunes a viernes|lunes|martes"
    r"|miercoles|jueves|viernes|sabados?|domingos?"
)
_DAY = re.compile(rf"\b(?:{_DAYS})\b")
_LEAVES_OUT = re.compile(
    r"\b(?:no|not|nothing|none|never|except|don t|dont|stop|skip|drop|off|without|enough|menos"
    r"|besides|excluding|barring|apart from|other than|exceptuando|excluyendo|quitando"
    r"|salvo|excepto|sin|basta|nada|ni|nunca|jamas|ningun[oa]?|dej\w+|par(?:a|en|ar) de)\b"
)
_ENDS = 2  # of a span of hours
_SPAN = re.compile(r"\b(?:from|between|de|desde|entre)\b", re.IGNORECASE)
_NIGHTS = re.compile(r"\b(?:nights?|noches?|madrugadas?|sleep\w*|dorm\w+|duerm\w+)\b")
# A paper in lower case: "follow the guardian", "agrega infobae".
_FEED_NAME = re.compile(
    r"(?:follow|add|subscribe(?: us)? to|seguir?|sig(?:ue|an?)|suscrib\w+|agreg\w+|anad\w+|sum\w+"
    r"|met\w+|pon\w*)(?: (?:the|al?|el|la|to))? (\w{3,})"
)
# "Set the timezone to New York".
_NAME = re.compile(r"(?<=\s)[A-ZÁÉÍÓÚÑ][\w.'’-]*(?: [A-ZÁÉÍÓÚÑ][\w.'’-]*)*")
# Whom the bot is to answer: "let ana use you", "dale permiso a ana", "ignora a pedro".
_PERSON = re.compile(
    r"\b(?:let|allow|unblock|permit(?:e|i|an?|ile|ele)|deja(?:le|d|r|n)?|ignore|block|ban|mute"
    r"|(?:ignor|bloque|ban+e)(?:a|e|en|ad)|acceso|permisos?|access|permission|rights)"
    r"(?: (?:to|a|al|for|para))? (?P<name>\w+)"
    r"|\b(?:give|dale|dar?|dadle) (?:a )?(?!acc|perm)(?P<given>\w+)"
)
_HANDLE = re.compile(r"(?<!\w)@(\w{2,})")
_NOBODY = frozenset(
    ("him", "it", "everyone", "eso", "que", "access", "acceso", "permission", "permiso", "permisos")
)


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What a message asks or tells the bot. `command` is the command line that does it, if there
    is one; `rank` the number of the text that is meant, if one is named; `is_guess` whether its
    words fit another request nearly as well."""

    intent: Intent
    command: str = ""
    rank: int | None = None
    is_guess: bool = False


def interpret_text(
    text: str, *, in_reply: bool = False, classifier: IntentClassifier | None = None
) -> Interpretation | None:
    """Return what a text asks or tells the bot, or None if it is a remark or something to search
    for. Below an answer (`in_reply`) people talk to one another, so it must be plainer there.

    `classifier` takes the place of the one that has learned from all examples.
    """
    words = _remove_links(text)
    if not _may_be_request(words):
        return None
    classification = (classifier or load_classifier()).classify(words)
    if classification.certainty <= _require_certainty(words, in_reply=in_reply):
        return None
    interpretation = apply_intent(classification.intent, text)
    is_instruction = classification.intent.act is DialogueAct.INSTRUCTION
    if interpretation is None or not is_instruction or words != text:
        return interpretation
    names_nothing = interpretation == apply_intent(classification.intent, "")
    if classification.lead < 0 and names_nothing:
        return replace(interpretation, command="")
    return replace(interpretation, is_guess=classification.lead < _LEAST_LEAD)


def apply_intent(intent: Intent, text: str) -> Interpretation | None:
    """Return what a text asks or tells the bot that has an intent, or None if nothing is done with
    the link that it has."""
    words, links = _remove_links(text), [*find_links(text[:_LONGEST])]
    if links:
        adds = intent is Intent.ADD_FEED
        return Interpretation(intent, f"/feeds add {links[-1]}") if adds else None
    write = _COMMANDS.get(intent)
    command = write(words) if callable(write) else write or ""
    return Interpretation(intent, command, _read_rank(words))


def is_unclear(text: str, *, in_reply: bool) -> bool:
    """Return whether a text may ask or tell the bot something, but it is not plain that it does,
    or what."""
    words = _remove_links(text)
    if not _may_be_request(words) or words != text:
        return False
    classification = load_classifier().classify(words)
    plain = classification.certainty > _require_certainty(words, in_reply=in_reply)
    sure = plain and classification.lead > _SURE_LEAD
    return classification.certainty > _MAYBE_SAID_TO_ME and not sure


def _remove_links(text: str) -> str:
    text = text[:_LONGEST]
    for link in find_links(text):
        text = text.replace(link, " ")
    return text


def _may_be_request(text: str) -> bool:
    is_title = text.startswith("/") or is_in_title_case(text)
    return not is_title and _LETTER.search(text) is not None


def _require_certainty(text: str, *, in_reply: bool) -> float:
    """Return how certain an intent must be that is read from a text."""
    start, each, most = _LEAST_IN_REPLY if in_reply else _LEAST_BY_NAME
    least = min(start + each * count_words(text), most)
    if looks_like_headline(text):
        return max(least, _LEAST_OF_LOWER_NEWS if text[:1].islower() else _LEAST_OF_NEWS)
    return least


def follows_up(text: str) -> bool:
    """Return whether a text goes on from what was said before: "and tea"."""
    return not _JOINS.isdisjoint(folded_words(text)[:1])


def names_another_subject(text: str) -> bool:
    """Return whether a follow-up leaves the subject for another: "and about trains?"."""
    words = [*dropwhile(_JOINS.__contains__, folded_words(text))]
    return words[:1] in (["about"], ["sobre"]) and bool(find_subject(text))


def find_subject(text: str) -> str:
    """Return the subject of a question: what is quoted, or what follows a word like "about", or
    else the longest run of words that do not belong to questions; or ""."""
    text = text[:_LONGEST]
    if quoted := _QUOTED.search(text):
        return quoted[1]
    pieces = [text[match.end() - 1 :] for match in _BEFORE_SUBJECT.finditer(text)]
    return next(filter(None, map(_find_longest_run, [*pieces, text])), "")


def _find_longest_run(text: str) -> str:
    words = [*_WORD.finditer(text)]
    places = [
        place
        for place, word in enumerate(words)
        if not _asks(word[0]) or (word.start() and word[0][0].isupper())
    ]
    runs: list[list[int]] = []
    for place in places:
        before = runs[-1][-1] if runs else place
        gap = words[before + 1 : place]
        joins = runs and all(word[0].lower() in FUNCTION_WORDS for word in gap)
        # A comma or a full stop may stand between two words.
        is_broken = _BREAK.search(text, words[before].end(), words[place].start())
        if joins and len(gap) < _FILLS_GAP and not is_broken:
            runs[-1].append(place)
        else:
            runs.append([place])
    if not runs:
        return ""
    run = max(runs, key=lambda run: run[-1] - run[0])
    run = [place for place in run if place < run[0] + _MAX_SUBJECT]
    return text[words[run[0]].start() : words[run[-1]].end()]


def _asks(word: str) -> bool:
    """Return whether a word belongs to questions, and names no subject."""
    classifier = load_classifier()
    return all(
        part in FUNCTION_WORDS or is_laughter(part) or classifier.is_frequent_in_questions(part)
        for part in folded_words(word)
    )


def _read_rank(text: str) -> int | None:
    """Return the number of the text that a question names, or None."""
    match = next(filter(None, map(_RANKED.fullmatch, folded_words(text))), None)
    if match is None:
        return None
    return int(match["number"]) if match["number"] else _RANKS[str(match.lastgroup)]


def _write_language(code: str, text: str) -> str:
    other = _OTHER_LANGUAGES.search(" ".join(folded_words(text)))
    return "/settings language" if other else f"/settings language {code}"


def _write_picture(text: str) -> str:
    said = " ".join(folded_words(text))
    if _PICTURES_EACH.search(said):
        return "/settings picture on"
    return f"/picture {_read_rank(text) or ''}".rstrip()


def _write_reason(text: str) -> str:
    return f"/why {_read_rank(text) or ''}".rstrip()


def _write_find(text: str) -> str:
    subject = find_subject(text)
    return f"/find {subject}" if subject else ""


def _write_label(text: str) -> str:
    label = _LABELS.search(" ".join(folded_words(text)))
    return f"/help {label[0]}" if label else "/help prophecy"


def _write_subscribe(text: str) -> str:
    """Return the command that changes when posts come, with the time and days that are named."""
    time, said = _TIME.search(write_times(text)), " ".join(folded_words(text))
    parts = [f"daily {_write_time(time)}"] if time else []
    parts += _list_days(said)
    if not parts and _PICTURES.search(said):
        return "/settings picture on"
    return " ".join(["/subscribe", *parts])


def _write_time(time: re.Match[str]) -> str:
    return f"{':'.join(filter(None, time.group(1, 2)))}{time[3] or ''}"


def _write_unsubscribe(text: str) -> str:
    """Return the command that ends posts, or, if days are named, that leaves those out."""
    days = _list_days(" ".join(folded_words(text)))
    return " ".join(["/subscribe", *days]) if days[:1] == ["except"] else "/unsubscribe"


def _list_days(said: str) -> list[str]:
    """Return the days that are named as `/subscribe` takes them, after "except" if they are left
    out."""
    days = ", ".join(dict.fromkeys(_DAY.findall(said)))
    leaves_out = ["except"] if days and _LEAVES_OUT.search(said) else []
    return [*leaves_out, days] if days else []


def _write_quiet(text: str) -> str:
    times = [_write_time(time) for time in _TIME.finditer(write_times(text))]
    if len(times) == _ENDS and _SPAN.search(text):
        return f"/settings quiet {'-'.join(times)}"
    nights = _NIGHTS.search(" ".join(folded_words(text)))
    return "/settings quiet 23:00-08:00" if nights else "/settings quiet"


def _write_time_zone(text: str) -> str:
    names = _NAME.findall(text)
    return " ".join(["/settings timezone", *names[:1]])  # zones are written with a capital


def _write_add_feed(text: str) -> str:
    named = _FEED_NAME.search(" ".join(folded_words(text)))
    sources = _NAME.findall(text)
    if not sources and named and named[1] not in FUNCTION_WORDS:
        sources = [named[1]]
    return " ".join(["/feeds add", *sources[-1:]])


def _write_access(verb: str, text: str) -> str:
    if handle := _HANDLE.search(text):
        return f"/access {verb} {handle[1]}"
    names = (
        match["name"] or match["given"] for match in _PERSON.finditer(" ".join(folded_words(text)))
    )
    name = next((name for name in names if name not in _NOBODY | FUNCTION_WORDS), "")
    return f"/access {verb} {name}".rstrip()


_COMMANDS: Mapping[Intent, str | Callable[[str], str]] = {
    Intent.MORE: "/more",
    Intent.REASON: _write_reason,
    Intent.TEXTS: _write_find,
    Intent.ARCHIVE: "/ask {}".format,
    Intent.CORPUS: "/corpus",
    Intent.LABEL: _write_label,
    Intent.PRIVACY: "/forget",
    Intent.NO_POSTS: "/preview",
    Intent.RECENT_POSTS: "/history",
    Intent.BEST: "/top",
    Intent.SETTINGS: "/settings",
    Intent.FEEDS: "/feeds",
    Intent.COMPOSE: "/compose",
    Intent.ENGLISH: partial(_write_language, "en"),
    Intent.SPANISH: partial(_write_language, "es"),
    Intent.PICTURE: _write_picture,
    Intent.NO_PICTURES: "/settings picture off",
    Intent.UNSUBSCRIBE: _write_unsubscribe,
    Intent.SUBSCRIBE: _write_subscribe,
    Intent.QUIET: _write_quiet,
    Intent.TIME_ZONE: _write_time_zone,
    Intent.OTHER_ARCHIVE: "/corpus",
    Intent.FORGET: "/forget",
    Intent.ANSWERS: "/settings answers",
    Intent.READ_ALONG: "/settings headlines on",
    Intent.READ_NOTHING: "/settings headlines off",
    Intent.COMMANDS_ONLY: "/settings listening commands",
    Intent.THRESHOLD: "/settings threshold",
    Intent.ADD_FEED: _write_add_feed,
    Intent.REMOVE_FEED: "/feeds remove",
    Intent.ALLOW: partial(_write_access, "allow"),
    Intent.REFUSE: partial(_write_access, "refuse"),
}
