"""Parses a subscription from typed text, and formats it as such."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from bot.i18n.words import Words, marked
from bot.replies.dates import read_time_of_day, write_times
from bot.replies.limits import cut
from engine.errors import UsageError
from engine.posting.delivery import EVERY_DAY, PostingMode, Subscription
from engine.search import HitKind

MAX_BEST = 10
THRESHOLD_OPTION = marked(
    "threshold foretold, demands (asked for), mirrors (held against others) or earlier (has"
    " happened before): what I speak of unasked, in posts too; each includes those before it."
)
THRESHOLD_LABELS: Mapping[str, str] = {
    "foretold": marked("Only what was foretold"),
    "demands": marked("Asked for too"),
    "mirrors": marked("Held against others too"),
    "earlier": marked("Happened before too"),
}
# The last kind of which the bot speaks unasked, as it is typed.
THRESHOLDS: Mapping[str, HitKind] = {
    "foretold": HitKind.PREDICTION,
    "demands": HitKind.DEMAND,
    "mirrors": HitKind.MIRROR,
    "earlier": HitKind.EARLIER_CASE,
}
ANY = "any"  # clears a filter; of weekdays, means all
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
# The Spanish abbreviations; none of them is the beginning of an English day.
_DAYS_BY_NAME = {name: day for day, name in enumerate(DAYS)} | {
    name: day for day, name in enumerate(("lun", "mar", "mie", "jue", "vie", "sab", "dom"))
}
_FULL_DAYS = (
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    *("lunes", "martes", "miercoles", "jueves", "viernes", "sabado", "domingo"),
)
_ACCENTS = str.maketrans("áéíóú", "aeiou")
# What stands between the first and the last day, and between others.
_TO, _AND = frozenset(("-", "to", "a", "al")), frozenset((",", "and", "y", "e"))
# Said instead of options and days.
_DAY_NAME = r"(?:mon|tue|wed|thu|fri|sat|sun|lun|mar|mi[eé]|jue|vie|s[aá]b|dom)\w*\b"
_WEEKENDS = r"(?:weekends?|fin(?:es)? de semana|findes?)\b"
# "all days but Fri", "menos el finde"; after the names of lists only a whole day, since "not sunak"
# and "not sun" are words.
_EXCEPT = "except"
_SHORT_DAY = r"(?:mon|tues?|wed|thu(?:rs?)?|fri|sat|sun|lun|mar|mi[eé]|jue|vie|s[aá]b|dom)\b"
_WHOLE_DAY = rf"(?:{'|'.join(_FULL_DAYS)}|s[aá]bado|mi[eé]rcoles)s?\b|{_WEEKENDS}"
_BEFORE = r"(?= (?:(?:on|from|the|el|los|de|del) ){{0,2}}(?:{}))"
_BEFORE_DAYS_OFF = _BEFORE.format(_WHOLE_DAY)
_BEFORE_ANY_DAY_OFF = _BEFORE.format(f"{_WHOLE_DAY}|{_SHORT_DAY}")
_PHRASES = tuple(
    (re.compile(rf"\b(?:{written})", re.IGNORECASE), meant)
    for written, meant in (
        (r"(?:every ?|each |any )day|all (?:days|week)|todos los d[ií]as", "mon-sun"),
        (r"cada d[ií]a|toda la semana", "mon-sun"),
        (rf"(?:except(?: for)?|apart from|other than|but(?: not)?){_BEFORE_ANY_DAY_OFF}", _EXCEPT),
        (rf"(?:besides|excluding|save(?: for)?|bar(?:ring)?){_BEFORE_ANY_DAY_OFF}", _EXCEPT),
        (rf"(?:menos|salvo|excepto|con excepci[oó]n|pero no){_BEFORE_ANY_DAY_OFF}", _EXCEPT),
        (rf"(?:exceptuando|excluyendo|quitando){_BEFORE_ANY_DAY_OFF}", _EXCEPT),
        (rf"(?:not|without|no|sin){_BEFORE_DAYS_OFF}", _EXCEPT),
        (r"(?:on )?(?:every weekday|weekdays(?=\s*$|\s+(?:at\b|\d|except\b)))", "mon-fri"),
        (rf"(?:on )?(?:every )?(?:(?:los|el|del|the) )?{_WEEKENDS}", "sat,sun"),
        (rf"(?:de|del|de los|cada|todos los|los|el|every|each|on|from) (?={_DAY_NAME})", ""),
        (r"a diario", "daily"),
        (r"entre semana|(?:los )?d[ií]as (?:h[aá]biles|laborables|de semana)", "mon-fri"),
        (r"al (?:momento|instante)|enseguida|at once|right away", "instant"),
        (r"sin evaluar", "unjudged"),
    )
)
# "every morning" is every day.
_EVERY_PART = re.compile(
    r"\b(?:every|each|cada|todas las)"
    r" (?=(?:morning|afternoon|evening|night|mañana|tarde|noche)s?\b)",
    re.IGNORECASE,
)
# What errors name in Spanish.
SPANISH_NAMES = {
    "daily": "diario",
    "instant": "al instante",
    "off": "nunca",
    "weekdays": "días",
    "best": "mejores",
    "threshold": "umbral",
    "coverage": "cobertura",
    "must": "con",
    "not": "sin",
    "languages": "idiomas",
    "categories": "categorías",
    "feeds": "fuentes",
    "silent": "silencio",
    "unjudged": "sin evaluar",
    "nothing": "nada",
    "compose": "borrador",
    "here": "aquí",
    ANY: "cualquiera",
}
_SPANISH = {name.translate(_ACCENTS): option for option, name in SPANISH_NAMES.items()} | {
    "diariamente": "daily",
    "inmediato": "instant",
    "apagado": "off",
    "mejor": "best",
    "nota": "threshold",
    "todos": ANY,
    "todas": ANY,
}
_SPANISH_SWITCHES = {"si": "on", "no": "off"}
SPANISH_THRESHOLDS = {
    "anunciado": "foretold",
    "pedido": "demands",
    "espejos": "mirrors",
    "anteriores": "earlier",
}
_ENGLISH_WORDS = frozenset(("con", "sin"))  # Spanish options only where Spanish is spoken
_LISTS = (
    rf"must|(?<!but )not(?!{_BEFORE_DAYS_OFF})|feeds|categories|con(?! excepci[oó]n)"
    rf"|sin(?! evaluar|{_BEFORE_DAYS_OFF})|fuentes|categor[ií]as"
)
# What follows the name of a list, up to another option, is nobody's phrase.
_LISTED = re.compile(
    rf"(\b(?:{_LISTS})\b.*?(?=\b(?:daily|instant|off|weekdays|best|threshold|silent|unjudged|nothing"
    r"|compose|diario|al instante|mejor(?:es)?|umbral|sin evaluar|silencio|borrador)\b|\Z))",
    re.IGNORECASE | re.DOTALL,
)
_TOKEN = re.compile(r'"(?P<quoted>[^"]*)"|(?P<comma>,)|(?P<bare>[^\s,"]+)')
_HALVES = frozenset(("am", "pm", "a.m", "p.m", "a.m.", "p.m."))
# "at 9", "a las 9", "las 9:30" mean the time alone.
_BEFORE_TIMES = frozenset(("at", "a", "la", "las"))
_LANGUAGE = re.compile(r"[a-z]{2}")
_MAX_WORDS, _LONGEST_WORD, _LONGEST_ECHO = 20, 50, 40

_Token: TypeAlias = tuple[str, bool]  # the text, and whether it was in quotes


def read_subscription(
    text: str, before: Subscription | None, start: Subscription, words: Words
) -> Subscription:
    """Return the new subscription; options that `text` does not mention are unchanged.

    `before` is the previous subscription, `start` the one for a new chat; "here" means the thread
    of `start`. List items are separated by commas and may contain spaces; quoted text is never
    read as an option. Options may be English or Spanish. Raises UsageError.
    """
    subscribed = before is not None and before.mode is not PostingMode.OFF
    subscription = before if before is not None else replace(start, thread=None)
    subscription = subscription if subscribed else replace(subscription, mode=PostingMode.DAILY)
    return _Reader(text, start.thread, words).read(subscription)


def read_threshold(value: str, words: Words) -> HitKind:
    """Return the kind that a word means, English or Spanish. Raises UsageError."""
    word = value.lower()
    if kind := THRESHOLDS.get(SPANISH_THRESHOLDS.get(word, word)):
        return kind
    spanish = words.language == "es"
    message = words.say(
        "{value} does not fit {name}. Use one of: {known}.",
        value=_format_echo(value),
        name="umbral" if spanish else "threshold",
        known=", ".join(SPANISH_THRESHOLDS if spanish else THRESHOLDS),
    )
    raise UsageError(message)


def type_threshold(threshold: HitKind) -> str:
    """Return the word for a threshold as it is typed."""
    return next(word for word, kind in THRESHOLDS.items() if kind is threshold)


def as_typed(subscription: Subscription) -> str:
    """Return a subscription as typed text, without filters and switches at their defaults."""
    plain = Subscription(chat=subscription.chat)
    parts = [
        f"daily {subscription.at:%H:%M}"
        if subscription.mode is PostingMode.DAILY
        else subscription.mode.value
    ]
    if subscription.weekdays != EVERY_DAY:
        parts.append(f"weekdays {','.join(DAYS[day] for day in subscription.weekdays)}")
    parts += [f"best {subscription.best}", f"threshold {type_threshold(subscription.threshold)}"]
    if subscription.languages:
        parts.append(f"languages {', '.join(subscription.languages)}")
    lists = {
        "must": subscription.must,
        "not": subscription.must_not,
        "categories": subscription.categories,
        "feeds": subscription.feeds,
    }
    for name, values in lists.items():
        if values:
            quoted = ", ".join(f'"{value}"' for value in values)
            parts.append(f"{name} {quoted}")
    if subscription.unjudged:
        parts.append("unjudged on")
    if subscription.unjudged_coverage != plain.unjudged_coverage:
        parts.append(f"coverage {subscription.unjudged_coverage:.0%}")
    switches = {
        "nothing": subscription.say_nothing_found,
        "silent": subscription.silent,
        "compose": subscription.compose,
    }
    return " ".join([*parts, *(f"{name} on" for name, is_on in switches.items() if is_on)])


class _Reader:
    """Reads options in order; each consumes its values from the tokens."""

    def __init__(self, text: str, here: str | None, words: Words) -> None:
        self._spanish = words.language == "es"
        text = _translate_phrases(text)
        self._tokens: deque[_Token] = deque(
            (match[0], False) if match["quoted"] is None else (match["quoted"], True)
            for match in _TOKEN.finditer(text)
        )
        self._words = words
        self._days: tuple[int, ...] = EVERY_DAY  # of which "except" leaves some out
        # By option, what it changes of a subscription.
        self._options: Mapping[str, Callable[[], dict[str, Any]]] = {
            "daily": self._read_daily,
            "instant": lambda: {"mode": PostingMode.INSTANT},
            "off": lambda: {"mode": PostingMode.OFF},
            "weekdays": lambda: {
                "weekdays": self._parse_spans(self._read_list("weekdays") or DAYS)
            },
            "best": lambda: {"best": self._read_integer("best", 1, MAX_BEST)},
            "threshold": lambda: {
                "threshold": read_threshold(self._take_value("threshold"), words)
            },
            "coverage": lambda: {"unjudged_coverage": self._read_integer("coverage", 0, 100) / 100},
            "must": lambda: {"must": self._read_list("must")},
            "not": lambda: {"must_not": self._read_list("not")},
            "languages": lambda: {"languages": self._read_languages()},
            "categories": lambda: {"categories": self._read_list("categories")},
            "feeds": lambda: {"feeds": self._read_list("feeds")},
            "silent": lambda: {"silent": self._read_switch("silent")},
            "unjudged": lambda: {"unjudged": self._read_switch("unjudged")},
            "nothing": lambda: {"say_nothing_found": self._read_switch("nothing")},
            "compose": lambda: {"compose": self._bare_switch()},
            "here": lambda: {"thread": here},
            "chat": lambda: {"thread": None},
        }

    def read(self, subscription: Subscription) -> Subscription:
        while self._tokens:
            token, quoted = self._tokens[0]
            if not quoted and self._tells_time():  # "9:00" alone means daily
                change = self._read_daily()
            elif self._leaves_days_out():
                change = {"weekdays": self._read_other_days()}
            elif not quoted and _names_day(token):
                change = {"weekdays": self._read_days()}
            else:
                self._tokens.popleft()
                option = None if quoted else self._options.get(self._translate_word(token))
                if option is None:
                    raise self._build_usage_error(
                        marked("I do not understand {value}. There are: {known}."),
                        value=_format_echo(token),
                        known=", ".join(map(self._name_option, self._options)),
                    )
                change = option()
            self._days = change.get("weekdays", self._days)
            subscription = replace(subscription, **change)
        return subscription

    def _read_daily(self) -> dict[str, Any]:
        if not self._tokens or self._is_option() or _names_day(self._tokens[0][0]):
            return {"mode": PostingMode.DAILY}
        while len(self._tokens) > 1 and self._tokens[0][0].lower() in _BEFORE_TIMES:
            self._tokens.popleft()
        value = self._take_value("daily")
        if self._tokens and self._tokens[0][0].lower() in _HALVES:  # "9 am"
            value += self._tokens.popleft()[0]
        if (at := read_time_of_day(value)) is None:
            raise self._build_usage_error(
                marked("{value} is no time of the day. An example: daily 8:30."),
                value=_format_echo(value),
            )
        return {"mode": PostingMode.DAILY, "at": at}

    def _tells_time(self) -> bool:
        """Return whether a time of day comes next without "daily"; a number alone is none."""
        first, *others = (token.lower() for token, _ in self._tokens)
        if first in _BEFORE_TIMES:
            following = next((word for word in others if word not in _BEFORE_TIMES), "")
            return read_time_of_day(following) is not None
        if first.isdigit() and len(first) < 3:  # "830" is one, though
            return bool(others) and others[0] in _HALVES
        return read_time_of_day(first) is not None

    def _read_days(self) -> tuple[int, ...]:
        """Read days that stand without "weekdays": "mon-fri", "lunes, miércoles y viernes"."""
        taken: list[str] = []
        while self._tokens and not self._tokens[0][1]:
            token = self._tokens[0][0].lower()
            if token not in _TO | _AND and not _names_day(token):
                break
            if token in _TO and (len(self._tokens) < 2 or _day_named(self._tokens[1][0]) is None):
                break  # "lunes a las 9"
            taken.append(self._tokens.popleft()[0])
        parts = " ".join("," if word.lower() in _AND else word for word in taken).split(",")
        return self._parse_spans(filter(str.strip, parts))

    def _read_other_days(self) -> tuple[int, ...]:
        """Read days that are left out: return the others of those that were named, or of all."""
        self._tokens.popleft()
        days = {*self._days} - {*self._read_days()}
        if not days:
            raise self._explain_missing("weekdays")
        return tuple(sorted(days))

    def _parse_spans(self, parts: Iterable[str]) -> tuple[int, ...]:
        days: set[int] = set()
        for part in parts:
            spaced = " ".join(part.split())  # "mon-fri", "lunes a viernes"
            first, _, last = re.sub(r" (?:to|a|al) | ?- ?", "-", spaced).partition("-")
            begin, end = self._parse_day(first, part), self._parse_day(last or first, part)
            length = (end - begin) % len(DAYS)  # over the end of the week too
            days |= {(begin + number) % len(DAYS) for number in range(length + 1)}
        return tuple(sorted(days))

    def _parse_day(self, name: str, part: str) -> int:
        day = _DAYS_BY_NAME.get(name.strip().lower().translate(_ACCENTS)[:3])
        if day is None:
            raise self._build_usage_error(
                marked("{value} is no weekday. An example: weekdays mon-fri."),
                value=_format_echo(part),
            )
        return day

    def _read_languages(self) -> tuple[str, ...]:
        codes = tuple(code.lower() for code in self._read_list("languages"))
        for code in codes:
            if not _LANGUAGE.fullmatch(code):
                raise self._build_usage_error(
                    marked("{value} is no language code. An example: languages en, es."),
                    value=_format_echo(code),
                )
        return codes

    def _read_integer(self, name: str, lowest: int, highest: int) -> int:
        value = self._take_value(name).removesuffix("%")
        is_number = value.isascii() and value.isdigit() and len(value) < 10
        if not is_number or not lowest <= int(value) <= highest:
            raise self._build_usage_error(
                marked("{name} takes a number from {lowest} to {highest}."),
                name=name,
                lowest=lowest,
                highest=highest,
            )
        return int(value)

    def _read_switch(self, name: str) -> bool:
        value = self._translate_word(self._take_value(name))
        if value not in ("on", "off"):
            raise self._build_usage_error(marked("{name} takes on or off."), name=name)
        return value == "on"

    def _bare_switch(self) -> bool:
        """Read "on" or "off", which may be left out for "on"."""
        if self._tokens and self._translate_word(self._tokens[0][0]) in ("on", "off"):
            return self._translate_word(self._tokens.popleft()[0]) == "on"
        return True

    def _take_value(self, name: str) -> str:
        if not self._tokens:
            raise self._explain_missing(name)
        return self._tokens.popleft()[0]

    def _read_list(self, name: str) -> tuple[str, ...]:
        """Read a list up to the next option; "any" is the empty list."""
        taken: list[_Token] = []
        while self._tokens and not self._is_option():
            taken.append(self._tokens.popleft())
        if [(self._translate_word(token), quoted) for token, quoted in taken] == [(ANY, False)]:
            return ()
        listed = _split_items(taken)
        if not listed:
            raise self._explain_missing(name)
        if len(listed) > _MAX_WORDS or any(len(word) > _LONGEST_WORD for word in listed):
            raise self._build_usage_error(
                marked("{name} takes at most {maximum} words of {longest} letters."),
                name=name,
                maximum=_MAX_WORDS,
                longest=_LONGEST_WORD,
            )
        return listed

    def _is_option(self) -> bool:
        token, quoted = self._tokens[0]
        is_named = not quoted and self._translate_word(token) in self._options
        return is_named or self._leaves_days_out()

    def _leaves_days_out(self) -> bool:
        following = self._tokens[1][0] if len(self._tokens) > 1 else ""
        return self._tokens[0] == (_EXCEPT, False) and _names_day(following)

    def _translate_word(self, token: str) -> str:
        """Return a word in lower case, as the English one that it stands for."""
        word = token.lower()
        plain = word.translate(_ACCENTS)
        if plain in _ENGLISH_WORDS and not self._spanish:
            return word
        return _SPANISH.get(plain) or _SPANISH_SWITCHES.get(plain) or word

    def _name_option(self, option: str) -> str:
        """Return an option in the language of the chat."""
        return SPANISH_NAMES.get(option, option) if self._spanish else option

    def _explain_missing(self, name: str) -> UsageError:
        return self._build_usage_error(
            marked("What is {name} to be? {any} takes it away."),
            name=name,
            any=self._name_option(ANY),
        )

    def _build_usage_error(self, message: str, **values: object) -> UsageError:
        if "name" in values:
            values["name"] = self._name_option(str(values["name"]))
        return UsageError(self._words.say(message, **values))


def _translate_phrases(text: str) -> str:
    """Return the text with options, days and times for phrases, except in quotes and lists."""
    parts = text.split('"')
    for number in range(0, len(parts), 2):
        pieces = _LISTED.split(parts[number])
        pieces[::2] = map(_translate_phrase, pieces[::2])
        parts[number] = "".join(pieces)
    return '"'.join(parts)


def _translate_phrase(text: str) -> str:
    text = write_times(_EVERY_PART.sub("mon-sun in the ", text))
    for written, meant in _PHRASES:
        text = written.sub(meant, text)
    return text


def _day_named(name: str) -> int | None:
    """Return the day of a name that begins like "mon" or "lun", or None."""
    plain = name.strip().lower().translate(_ACCENTS)
    plain = plain.removesuffix("s") if len(plain) > 4 else plain  # "Mondays"
    full_name = next(
        (full for full in _FULL_DAYS if len(plain) >= 3 and full.startswith(plain)), None
    )
    return _DAYS_BY_NAME[full_name[:3]] if full_name else None


def _names_day(token: str) -> bool:
    return _day_named(token.partition("-")[0]) is not None


def _split_items(tokens: Iterable[_Token]) -> tuple[str, ...]:
    """Return the items between commas, without duplicates."""
    items: list[list[str]] = [[]]
    for part, quoted in tokens:
        if part == "," and not quoted:
            items.append([])
        else:
            items[-1].append(part)
    joined = (" ".join(" ".join(parts).split()) for parts in items)
    return tuple(dict.fromkeys(filter(None, joined)))


def _format_echo(text: str) -> str:
    return cut(text, _LONGEST_ECHO) or "-"
