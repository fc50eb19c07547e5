"""The functions of the project that take a text, how each is called with one, and hostile texts.

Most are called with their other arguments empty. What reads a model's answer, and the guard, are
also called with what they are made for.
"""

import collections.abc
import inspect
import typing
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from types import FunctionType

import orjson

from bench.hostile_texts import modules
from bot.i18n.words import Words, words_for
from engine.answer.claims import read_claims
from engine.compose.composition import DraftSentence, SourceKind, SourcePassage
from engine.compose.evidence import read_evidence, read_gaps
from engine.compose.finish import read_checks
from engine.compose.guard import Witness, check_sentence
from engine.compose.write import read_drafts
from engine.glossary.suggest import AskedTerm, read_pairs
from engine.judge.answer import read_judgments
from engine.posting.retold import RetellingQuestion
from engine.prophecy.expand import read_phrases

Use = Callable[[str], object]
# Pieces that are repeated into texts for functions.
PIECES = (
    *"a1 \n\t\r.,:;-_'\"()[]{}<>/\\|@#&%*~`=+!?^$éA本ひ",
    *("a ", "1 ", "1.", "1,", "1 000 ", "a. ", "A. ", "Ab ", "a\n", "\n\n", "\r\n", "  \n", ". "),
    *("$1 ", "5 % ", "two ", "a hundred ", "half ", "the largest ", "all men ", "1 May ", "10:30 "),
    *(
        "e\u0301",
        "\u0301\u0327",
        "\u200b",
        "\u200d",
        "\ufe0f",
        "🧵",
        "🇦",
        "\u202e",
        "\u00a0",
        "\x00",
    ),
    *(
        "@a ",
        "#a ",
        "a@b.c ",
        "www.a.b ",
        "http://",
        "http://a.b/c ",
        "a.b/",
        "://",
        "%41",
        "?a=b&",
    ),
    *("a.com ", "-a", "“a” ", "« ", '"a" ', "'a' ", '\\"', "[1] ", "[a](b) ", "](", "**a** ", "__"),
    *("> ", "- ", "| ", "<b>", "<a href='b'>", "</b>", "<!--", "<a ", "&amp;", "&#38;", "&a", "{{"),
    *(
        "<![CDATA[",
        "before:2019 ",
        "(a OR ",
        '"a b" ',
        "NOT ",
        "a:",
        "RT @a: ",
        "/a ",
        "a,b\n",
        "a;",
    ),
    *(
        '{"a":1}',
        "[1,2],",
        '{"a":',
        '"i":1,',
        "aB",
        "ß",
        "ﷺ",
        "İ",
        "١",
        "①",
        "。",
        "년",
        "ก",
        "xn--",
    ),
)
_OFTEN = frozenset(
    {"a", "1", " ", "a ", "\n", ".", "a.b/", "<a ", '\\"', "(", "[", "[1,2],", '"i":1,', "#a "}
)
_AROUND = (("", ""), ("a ", " b"), ('"', ""), ('{"a":', "}"), ("[", "\\"), ("http://a.b/", "\x01"))
_NOW = datetime(2026, 1, 2, tzinfo=UTC)
# Parts of the program that open files, start processes, reach the network or end it.
_OUTSIDE = (
    "engine.process_pool",
    "engine.process_worker",
    "engine.extras",
    "engine.embed",
    "bot.cli",
    "bot.settings",
    "bot.console.logs",
)
_EMPTY: Sequence[tuple[object, Callable[[], object]]] = (
    (int, lambda: 100),
    (float, lambda: 1.0),
    (bool, lambda: False),
    (datetime, lambda: _NOW),
    (Counter, Counter),
    (Words, lambda: words_for("en")),
    (collections.abc.Mapping, dict),
    (dict, dict),
    (collections.abc.Sequence, tuple),
    (collections.abc.Collection, tuple),
    (collections.abc.Iterable, tuple),
    (list, list),
    (tuple, tuple),
    (set, set),
    (frozenset, frozenset),
)
_LISTED = frozenset(kind for kind, make in _EMPTY if make is tuple or make is list)


def text_functions(package: str) -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the functions and class methods of a package that may be called with a text."""
    for module in list(modules(package)):
        if module.__name__.startswith(_OUTSIDE):
            continue
        for name, value in list(vars(module).items()):
            full = f"{module.__name__}.{name}"
            if getattr(value, "__module__", None) != module.__name__:
                continue
            if isinstance(value, type):
                for inner, method in list(vars(value).items()):
                    if isinstance(method, classmethod | staticmethod):
                        yield f"{full}.{inner}", getattr(value, inner)
            elif isinstance(inspect.unwrap(value) if callable(value) else None, FunctionType):
                yield full, inspect.unwrap(value)


def text_uses(function: Callable[..., object]) -> Iterator[tuple[str, Use]]:
    """Yield for each parameter that is a text how to call the function with it alone."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return
    required = {
        name: known
        for name, known in inspect.signature(function).parameters.items()
        if known.default is known.empty
        and known.kind not in (known.VAR_POSITIONAL, known.VAR_KEYWORD)
    }
    made = {name: _make_value(known.annotation) for name, known in required.items()}
    given = {name: make for name, make in made.items() if make}
    if len(given) < len(required):
        return
    for name, known in required.items():
        if convert := _find_conversion(known.annotation):
            yield name, partial(_call, function, required, given, name, convert)


def _find_conversion(annotation: object) -> Callable[[str], object] | None:
    """Return how to make a value of a type of a text, or None if it has none."""
    if annotation in (str, str | None):
        return str
    if annotation is bytes:
        return _to_bytes
    listed = typing.get_args(annotation)[:1] == (str,) and typing.get_origin(annotation) in _LISTED
    return _to_words if listed else None


def _make_value(annotation: object) -> Callable[[], object] | None:
    """Return what makes a value of a type, or None if nothing does."""
    if annotation in (str, str | None):
        return lambda: "a b"
    if annotation is bytes:
        return lambda: b"a b"
    origin = typing.get_origin(annotation) or annotation
    return next((make for kind, make in _EMPTY if origin is kind), None)


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _to_words(text: str) -> tuple[str, ...]:
    return tuple(text[at : at + 8] for at in range(0, len(text), 8))


def _call(
    function: Callable[..., object],
    required: Mapping[str, inspect.Parameter],
    given: Mapping[str, Callable[[], object]],
    name: str,
    convert: Callable[[str], object],
    text: str,
) -> None:
    values = {other: make() for other, make in given.items()} | {name: convert(text)}
    positional = [
        values.pop(other)
        for other, known in required.items()
        if known.kind in (known.POSITIONAL_ONLY, known.POSITIONAL_OR_KEYWORD)
    ]
    with suppress(Exception):  # most refuse most texts
        result = function(*positional, **values)
        if isinstance(result, Iterator):
            deque(result, maxlen=0)


def make_texts() -> Iterator[tuple[str, Callable[[int], str]]]:
    for piece in PIECES:
        for before, after in _AROUND if piece in _OFTEN else _AROUND[:1]:
            shown = f"{before!r} {piece!r}... {after!r}"
            yield shown, partial(_repeat, before, piece, after)


def _repeat(before: str, piece: str, after: str, size: int) -> str:
    return before + piece * (size // len(piece)) + after


def reader_uses() -> Iterator[tuple[str, Use]]:
    """Yield what reads a model's answer, on a text as the answer and within it, and the guard."""
    for name, read, wrap in _READERS:
        yield f"{name}, whole", read
        yield f"{name}, within", partial(_read_within, read, wrap)
    yield "guard, sentence", lambda text: check_sentence(_cite(text), [_passage("It rose to 9 %.")])
    yield "guard, passage", lambda text: Witness.of([_passage(text)])
    yield "guard, both", lambda text: check_sentence(_cite(text), [_passage(text)])


def _read_within(read: Use, wrap: Callable[[str], object], text: str) -> None:
    read(orjson.dumps(wrap(text)).decode())


def _passage(text: str) -> SourcePassage:
    return SourcePassage(key="a", kind=SourceKind.INTERNAL, text=text, title="@a", date=_NOW)


def _cite(text: str) -> DraftSentence:
    return DraftSentence(text=text, sources=(1,))


_READERS: Sequence[tuple[str, Use, Callable[[str], object]]] = (
    (
        "judgments",
        lambda answer: read_judgments(answer, sent=2, finished=True),
        lambda text: {"n": 2, "scores": [[1, 5, text], [2, text]], "why": {"1": text}},
    ),
    ("expansion", read_phrases, lambda text: {"phrases": [text, *text.split()]}),
    (
        "retellings",
        RetellingQuestion({1: "a"}, {2: "b"}).read_answer,
        lambda text: {"same": [[2, 1], [2, text], *text.split()[:5_000]]},
    ),
    (
        "answer",
        lambda answer: read_claims(answer, ["a b", "c"], Counter()),
        lambda text: {"claims": [{"text": text, "sources": [1, text]}, {"text": text}]},
    ),
    (
        "pairs",
        lambda answer: read_pairs(answer, [AskedTerm("a"), AskedTerm("b")], Counter()),
        lambda text: {"pairs": [["a", text], ["a", "b"], *text.split()[:5_000]]},
    ),
    (
        "gaps",
        lambda answer: read_gaps(answer, Counter(), maximum=5),
        lambda text: {"queries": [text, *text.split()]},
    ),
    (
        "evidence",
        lambda answer: read_evidence(answer, Counter(), [_passage("a b " * 500)]),
        lambda text: {"facts": 30 * [{"text": text, "quote": text[:400], "passage": 1}]},
    ),
    (
        "draft",
        lambda answer: read_drafts(answer, Counter(), given={1: "a b"}, variants=3),
        lambda text: {"variants": [{"tweets": [text, *text.split()]}]},
    ),
    (
        "check",
        lambda answer: read_checks(answer, Counter(), [_cite("A b.")], {1: "a b"}),
        lambda text: {"checks": 9 * [{"i": 1, "verdict": "partly", "sources": [1], "edit": text}]},
    ),
)
