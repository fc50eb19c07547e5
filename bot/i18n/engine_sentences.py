"""What the engine says to people, in the reader's language.

The engine and the errors of the faces write English sentences with values in them. Those that a
chat may see are listed here as templates, which the catalogues hold; what matches none is shown as
it is.
"""

import re
from functools import cache

from bot.i18n.words import DEFAULT, Words, marked
from engine.errors import PresagioError

# Tried in this order: the more special ones first.
TEMPLATES = (
    marked("There is no word in this to look for."),
    marked("Corpus {name} is empty."),
    marked("There is no corpus yet."),
    marked("There is no corpus {name}."),
    marked("There are several corpora: {names}."),
    marked("See /corpus."),
    marked("Corpus {name} is left out by the query itself."),
    marked("One corpus is searched at a time; this is {name}."),
    marked("There are: {names}."),
    marked('"{written}" is no filter, so it was read as a word.'),
    marked("Write for example: {examples}."),
    marked("An OR was left out: it joins words and phrases that are not excluded."),
    marked("Only the first {number} parts of the query count."),
    marked("Only the first {number} characters were read."),
    marked("What is longer than {number} characters was left out."),
    marked("Too common to look for, or no word: {words}."),
    marked("No text says {words}."),
    marked('"{term}" is protected.'),
    marked("An acronym in capitals matches exactly and has no alias."),
    marked("An identifier matches exactly and has no alias."),
    marked("A proper name that no dictionary has matches exactly and has no alias."),
    marked('"{term}" is no term: it holds no letter and no digit.'),
    marked('"{term}" is no term: it holds a sign with a meaning of its own.'),
    marked("A term has at most {number} characters."),
    marked("A group has {least} to {most} different terms."),
    marked("There is no group {number}."),
    marked("Not judged, as asked."),
    marked("Not judged: no language model is set up."),
    marked("Not judged: the model answered nothing that can be read."),
    marked("Not judged: {reason}"),
    marked("Not answered by a model, as asked."),
    marked("Not answered by a model: no language model is set up."),
    marked("Not answered by the model: it answered nothing that can be read."),
    marked("Not answered by the model: what it wrote cites no source."),
    marked("Not answered by the model: {reason}"),
    marked("Searched by words alone: no embeddings are set up."),
    marked("Searched by words alone: {corpus} has no vectors yet."),
    marked("Searched by words alone: the headline was not embedded within {seconds} s."),
    marked("Searched by words alone: {reason}"),
    marked("Private text is not sent to {host}: {names}."),
    marked("To allow it, add the corpus to {setting}."),
    marked("The model judged {judged} of {sent} candidates."),
    marked("The model answered nothing within {seconds} s."),
    marked("The daily model budget of {limit} is spent."),
    marked("The chats' share of the daily model budget is spent."),
    marked("The API's share of the daily model budget is spent."),
    marked("The web page's share of the daily model budget is spent."),
    marked("The rest of the daily model budget is kept for the daily posts."),
    marked("It starts anew at 00:00 UTC on {day}; or raise {setting}."),
    marked("It starts anew at 00:00 UTC on {day}; or lower llm.posts_reserve."),
    marked("Without a key no model is asked here."),
    marked("Whoever runs this can set web.judge = true."),
    marked("The model failed {failures} times in a row and is left alone."),
    marked("It is tried again in {seconds} s."),
    marked("The database does not answer."),
    marked("Try again in a few minutes."),
    marked("{host} was not opened: it is no address of the public web."),
    marked("{host} does not answer."),
    marked("The connection to {host} broke."),
    marked("{host} cannot prove that it is {host}."),
    marked("No connection to {host}."),
    marked("There is no {host}."),
    marked("The name {host} could not be looked up."),
    marked("{host} took longer than {seconds} s."),
    marked("{host} sends its answer in too many pieces."),
    marked("What {host} sent could not be worked with; the log says why."),
    marked("{host} has no such page ({status})."),
    marked("{host} asks to slow down ({status})."),
    marked("{host} does not show this page ({status})."),
    marked("{host} failed ({status})."),
    marked("{host} answered {status}, which leads nowhere."),
    marked("{host} sent {sent}, not {wanted}."),
    marked("The page of {host} has no title."),
    marked("This is a web page, not a feed."),
    marked("Give the address of its feed."),
    marked("This is not a feed."),
    marked("Give the address of an RSS or Atom feed."),
    marked("The answer is broken JSON, not a feed."),
    marked("The answer is JSON, but not a JSON Feed."),
    marked("The feed is damaged beyond reading."),
    marked("The feed ends before it begins."),
    marked("The elements of the feed are nested without end."),
    marked("The feed declares XML entities or a document type of its own."),
    marked("The feed takes too long to read."),
    marked("The process that read the feed broke down."),
    marked("The server says 'unchanged' of a feed never read."),
    marked("This is not a list of feeds."),
    marked("Export one as OPML from your feed reader."),
    marked("It could not be sent for a day."),
    marked("Slack does not say who is an admin."),
    marked("Telegram does not say who is an admin."),
    marked("Too many requests from this address."),
    marked("Wait {seconds} s."),
    marked("There is nothing at this address."),
    marked("Corpus {name} holds no text with this id."),
    marked("A headline has no more than {number} characters."),
    marked("A vote has to come from this page."),
    marked("Something went wrong; the log describes it."),
    marked("Pictures cannot be drawn here."),
    marked("The word lists of the glossary are not installed."),
    marked("Whoever runs me can install them: pip install 'presagio[{extra}]'"),
    marked("Check the link."),
    marked("Try again later."),
    marked("Try again later, or paste the headline."),
    marked("Paste the headline instead."),
    marked("Wait a little."),
)
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_PLACEHOLDER = re.compile(r"\\\{(\w+)\\\}")


def error_in(words: Words, error: PresagioError) -> str:
    """Return what happened and what to do, in the language of `words`."""
    return in_language(str(error), words)


def in_language(text: str, words: Words) -> str:
    """Return sentences of the engine in the language of `words`, as far as they are known."""
    if words.language == DEFAULT:
        return text
    return " ".join(_sentence(one, words) for one in _BETWEEN_SENTENCES.split(text))


def _sentence(sentence: str, words: Words) -> str:
    for template, pattern in _patterns():
        if found := pattern.fullmatch(sentence):
            values = found.groupdict()
            if "reason" in values:  # a sentence within a sentence
                values["reason"] = _sentence(values["reason"], words)
            return words.say(template, **values)
    return sentence


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((template, _pattern(template)) for template in TEMPLATES)


def _pattern(template: str) -> re.Pattern[str]:
    """Return a pattern that matches the template with anything in its places."""
    names: set[str] = set()

    def place(found: re.Match[str]) -> str:
        name = found[1]
        if name in names:
            return f"(?P={name})"
        names.add(name)
        return f"(?P<{name}>.+?)"

    return re.compile(_PLACEHOLDER.sub(place, re.escape(template)), re.DOTALL)
