"""What a question is about, without the words that only make it one.

"What did she say about coffee?" is answered by texts about coffee. To a ranking by words, "say"
is as good as any word: rare in most corpora, and therefore dear.
"""

import re

_FRAME = """
    what who whom whose which when where why how
    did does do has have had was were is are been being
    say says said saying tell tells told telling talk talks talked talking speak speaks spoke
    mention mentions mentioned write writes wrote written writing posted tweeted claimed think
    thinks thought opinion opinions feel feels felt
    about regarding concerning ever anything something someone anyone somebody anybody
    qué que quién quiénes quien cuándo cuando dónde donde cómo como cuál cuáles por
    dice dicen decir decía dijo dijeron dicho habla hablan habló hablaron hablar menciona mencionó
    escribe escribió escribieron escrito publicó publicaron tuiteó piensa piensan pensaba pensó
    opina opinan opinaba opinó opinión opiniones cree creen creía sobre acerca respecto alguna vez
    algo alguien
"""
_FRAME_WORDS = frozenset(_FRAME.split())
_WORD = re.compile(r"(?<![\w@#'’-])[^\W\d_]+(?![\w'’-])")
_BEGINNING = 1  # after an inverted question mark
_LEFT = re.compile(r"\w")


def subject(question: str) -> str:
    """Return the question without its frame; as it is where nothing else would be left.

    A capital within the question is a name's: "the songs of The Who".
    """

    def kept(found: re.Match[str]) -> str:
        word = found[0]
        framing = word.casefold() in _FRAME_WORDS and (
            word.islower() or found.start() <= _BEGINNING
        )
        return "" if framing else word

    rest = _WORD.sub(kept, question)
    return " ".join(rest.split()) if _LEFT.search(rest) else question
