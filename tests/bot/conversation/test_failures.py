"""What people in a chat read of each error, and what the operators read."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bot.conversation.sending import explain_problem
from engine import errors
from engine.corpora import resolve_corpus
from engine.errors import (
    CorpusNotFound,
    ExtraMissing,
    FetchStatus,
    ModelError,
    PresagioError,
    SeveralCorpora,
)
from engine.messages import Message
from tests.bot.conversing import GROUP, corpus, event

# Names of settings and of variables, commands of the terminal and their options.
TECHNICAL = re.compile(r"presagio|pip install|--\w|\b[a-z]+\.[a-z_]+\b|\b[A-Z]+_[A-Z_]+\b|\[\w+\]")
WHAT = Message("gpt.example rejects the API key (401).")
FIX = Message("Check OPENROUTER_API_KEY and llm.base_url, or run: presagio setup --model-key KEY")
# Errors whose words are meant for the person who asked; their fixes are written for people.
FOR_PEOPLE = (
    errors.UsageError,
    errors.InputError,
    errors.CorpusNotFound,
    errors.CorpusConflict,
    errors.FetchError,
)


def classes(base: type[PresagioError] = PresagioError) -> Iterator[type[PresagioError]]:
    for subclass in base.__subclasses__():
        if subclass.__module__ == "engine.errors":
            yield subclass
            yield from classes(subclass)


def made(kind: type[PresagioError]) -> PresagioError:
    if kind is ExtraMissing:
        return ExtraMissing(WHAT, extra="pictures")
    if kind is FetchStatus:
        return FetchStatus(WHAT, fix=FIX, status=500)
    return kind(WHAT, fix=FIX)


@pytest.mark.parametrize("kind", sorted(set(classes()), key=str))
def test_every_error_class_is_user_facing_or_has_plain_text(kind: type[PresagioError]) -> None:
    error, asked = made(kind), event("/prophecy Coffee", place=GROUP)
    sentence = explain_problem(asked, error)
    if error.plain is None:
        assert issubclass(kind, FOR_PEOPLE)
        assert sentence == str(error)
    else:
        assert not TECHNICAL.search(sentence)
        assert str(WHAT) not in sentence


@pytest.mark.parametrize(
    ("private", "operators", "owner", "in_full"),
    [
        (True, {"test:ana"}, False, True),
        (True, set[str](), True, True),
        (True, {"test:bob"}, False, False),
        (False, {"test:ana"}, True, False),  # the group would read it too
    ],
)
def test_only_operators_in_private_read_technical_errors(
    private: bool, operators: set[str], owner: bool, in_full: bool
) -> None:
    asked = event("Coffee", place=replace(GROUP, private=private), owner=owner)
    asked = replace(asked, words=asked.words_to_asker(operators))
    sentence = explain_problem(asked, ModelError(WHAT, fix=FIX))
    assert (sentence == f"{WHAT} {FIX}") is in_full
    assert (sentence == "I cannot ask my model just now. Try again later.") is not in_full


def test_a_missing_corpus_names_no_command_of_the_terminal() -> None:
    with pytest.raises(SeveralCorpora) as several:
        resolve_corpus([corpus("one"), corpus("two")])
    with pytest.raises(CorpusNotFound) as none:
        resolve_corpus([])
    with pytest.raises(CorpusNotFound) as unknown:
        resolve_corpus([], "x")
    sentences = [explain_problem(event("x"), one.value) for one in (several, none, unknown)]
    assert sentences == [
        "There are several corpora: one, two.",
        "There is no corpus yet.",
        "There is no corpus 'x'.",
    ]
    assert "presagio ingest" in str(none.value)
