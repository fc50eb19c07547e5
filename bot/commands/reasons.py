"""Why news was not posted, in words."""

from collections.abc import Mapping

from bot.words import Words, marked
from engine.posting.choose import LeftOut, Reason, Rejected, judgment_of
from engine.posting.filters import Unwanted
from engine.posting.types import Subscription

_SAID: Mapping[Reason, str] = {
    Unwanted.OLD: marked("from before this chat subscribed"),
    Unwanted.CATEGORY: marked("of another category"),
    Unwanted.LANGUAGE: marked("in another language"),
    Unwanted.WORD_MISSING: marked("none of the words that must occur"),
    Unwanted.WORD_PRESENT: marked("a word that must not occur"),
    Rejected.NOTHING_FOUND: marked("no tweet was found"),
    Rejected.BELOW_THRESHOLD: marked("judged {judgment} of 6, less than {threshold}"),
    Rejected.NOT_JUDGED: marked("not judged"),
    Rejected.TOO_LITTLE_IN_COMMON: marked("not judged, and too few words in common"),
    Rejected.STORY_POSTED: marked("posted before"),
    Rejected.TEXT_POSTED: marked("its tweet was posted before"),
    Rejected.BEYOND_BEST: marked("others are better"),
}


def reason_of(left_out: LeftOut, subscription: Subscription, words: Words) -> str:
    """Return why a find is not posted in the subscriber's chat."""
    message = _SAID[left_out.reason]
    if left_out.reason is not Rejected.BELOW_THRESHOLD:
        return words.say(message)
    prophecy = left_out.find.prophecy
    judgments = [judgment_of(hit) for hit in (*prophecy.hits, *prophecy.near)]
    best = max((judgment for judgment in judgments if judgment is not None), default=0)
    return words.say(message, judgment=best, threshold=subscription.threshold)
