"""The words of a text without case and accents, for comparing texts without a database."""

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_ACCENTS = re.compile("[\u0300-\u036f]")
# Of English and Spanish.
FUNCTION_WORDS = frozenset(
    _WORD.findall(
        """
        a about after all also am an and any are as at be because been before but by can could
        did do does for from had has have he her him his how i if in into is it its just may
        more most my of off on or our out over she so some than that the their them then there
        these they this those to up was we were what when where which who why will with would
        you your al ante asi cada como con contra cual cuando de del desde donde dos el ella
        ellos en entre era es esa ese eso esta estan este esto fue ha hace han hasta hay la las
        le les lo los mas me mi muy ni nos o para pero por porque que quien se segun ser si sin
        sobre son su sus tambien tras tu un una uno y ya s t
        """
    )
)


def folded_words(text: str) -> list[str]:
    """Return all words in their order, without case and accents; numbers stay whole."""
    return _WORD.findall(_ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold())))
