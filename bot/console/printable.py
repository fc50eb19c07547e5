"""Foreign text made harmless for a terminal."""

import re

# Control characters (escape sequences begin with one), halves of surrogate pairs, and the marks
# that reverse the direction of what follows. Joiners, which emoji and scripts need, stay.
_HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_LINE_END = re.compile("\r\n|[\r\u2028\u2029]")


def printable(text: str) -> str:
    """Return `text` with every harmful character shown as U+FFFD.

    Line ends of all kinds become "\\n" and tabs become spaces.
    """
    return _HARMFUL.sub("\ufffd", _LINE_END.sub("\n", text.replace("\t", " ")))
