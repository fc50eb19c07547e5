"""Texts that people might type as a query, and worse."""

import random

from hypothesis import strategies as st

PIECES = [
    " ", "  ", "\n", "OR", " OR ", "or", "-", "--", '"', "“", "»", "(", ")", "&", "|", "!", "<",
    ">", "<->", "*", ":", ":*", "'", "\\", "#", "@", ",", ".", "_", "/", "//", "\0", "\ud800",
    "\u202e", "\u200f", "\u200b", "\ufeff", "\u0301", "😀", "ß", "İ", "ﬁ", "Ⅳ", "१२", "مرحبا",
    "हिन्दी", "日本語", "wall", "great", "people", "the", "país", "U.S.", "don't", "state-run",
    "from:", "-from:ana", 'from:"', "before:2015", "-after:2012-02", "on:2014-05-06", "on:", "min:",
    "min:100", "-min:3", "lang:es", "-lang:en", "platform:x", "role:user", "thread:",
    "tag:coffee", "#tag", "-#tag", "@me", "-@me", "has:media", "is:repost", "-is:reply", "is:",
    "foo:", "foo:bar", 'foo:"a b"', "in:english", "http://a.example/b?c", '12"', "x" * 600,
    '"great people"', '-"great wall"', "'); DROP TABLE document; --", "$1", "{limit}", "%s",
]  # fmt: skip


def query_texts() -> st.SearchStrategy[str]:
    """Return pieces of queries in any order, with any characters between."""
    piece = st.sampled_from(PIECES) | st.characters() | st.text(max_size=5)
    return st.lists(piece, max_size=60).map("".join)


def random_query(chance: random.Random) -> str:
    """Return one such text, much faster: a tenth of them of any characters at all."""
    length = chance.choice([1, 2, 3, 5, 8, 13, 40, 200])
    if chance.random() < 0.1:
        return "".join(chr(chance.randrange(0x110000)) for _ in range(length))
    return "".join(
        chance.choice(PIECES)
        if chance.random() < 0.8
        else chr(chance.randrange(chance.choice([0x80, 0x250, 0x3000, 0x110000])))
        for _ in range(length)
    )
