"""Why an answer contains a tweet, in words."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from bot.i18n.words import Words, marked
from bot.replies.dates import age_between
from bot.replies.limits import cut
from engine.search import HIGHEST_JUDGMENT, Hit, Prophecy

_LONGEST_LIST = 300
_INDENT = "   "
# What each judgment, 0 to 6, says.
_READ = (
    marked("The model read it as something else."),
    marked("The model read it as the same topic, no more."),
    marked("The model read it as distantly related."),
    marked("The model read it as related."),
    marked("The model read it as close to the event."),
    marked("The model read it as almost the same event."),
    marked("The model read it as the same event."),
)
_UNREAD = marked("No model read it; it was found by its words.")


def reasons(prophecy: Prophecy, hits: Sequence[Hit], now: datetime, words: Words) -> str:
    """Return in words why the prophecy contains each of `hits`, without any scores.

    Return "" if there are no hits.
    """
    until = prophecy.headline.date or now
    lines = [line for hit in hits for line in _reasons(hit, until, words)]
    return "\n".join(lines)


def _reasons(hit: Hit, until: datetime, words: Words) -> Iterator[str]:
    age = age_between(hit.candidate.created_at, until).said(words)
    judgment = hit.parts.get("judgment")
    read = words.say(_UNREAD if judgment is None else _READ[round(judgment * HIGHEST_JUDGMENT)])
    yield f"{hit.rank}. {age}: {read}"
    if hit.why:
        yield _INDENT + words.say("Why: {reason}", reason=hit.why)
    if hit.candidate.asked_for:
        yield _INDENT + words.say("It says what the model expected the account to say.")
    if hit.matched:
        matched = cut(", ".join(hit.matched), _LONGEST_LIST)
        yield _INDENT + words.say("Words in common: {words}.", words=matched)
    else:
        yield _INDENT + words.say("It was found by its meaning.")
