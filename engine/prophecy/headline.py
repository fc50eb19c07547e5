"""Reading pasted text as a headline.

A headline is a bag of words: quotes, hyphens and minus signs in it are never operators.
"""

import re
from datetime import datetime

from engine.search import Headline

# A longer text is an article; the rarest of its first words tell what it is about.
_LONGEST = 2000

_LINK = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
# They reverse or hide what stands around them; the marks that right-to-left text needs are others.
_OVERRIDES = re.compile("[\u00ad\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff]")
_WORDS = re.compile(r"\w+")
_BLANKS = re.compile(r"\s+")
_LABEL = re.compile(
    r"^\s*(?:breaking(?: news)?|just in|update[ds]?|live(?: updates?)?|watch|exclusive|opinion|"
    r"analysis|último momento|urgente|en vivo|opinión|análisis|exclusivo|video|vídeo)\s*[:|–—]\s*",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"(?<!\s)\s+(?P<mark>[|·•»]|[-–—]{1,2})\s+(?P<source>[^|·•»]{2,40})$")
# Words that are typical of the names of news outlets, in English and Spanish.
_OUTLET = re.compile(
    r"\b(?:news|noticias|times|post|journal|press|reuters|bbc|cnn|npr|ap|afp|efe|abc|cbs|nbc|msnbc|"
    r"fox|sky|guardian|telegraph|independent|mail|mirror|herald|tribune|globe|gazette|"
    r"chronicle|observer|economist|bloomberg|forbes|politico|axios|vox|wired|verge|atlantic|"
    r"magazine|daily|"
    r"diario|periódico|periodico|nación|nacion|país|pais|mundo|clarín|clarin|infobae|página|pagina|"
    r"vanguardia|razón|razon|universal|jornada|comercio|tiempo|prensa|radio|tv|televisión|perfil|"
    r"ámbito|ambito|cronista|rtve|telam|télam|dw|france ?24|al jazeera|huffpost|yahoo|msn|"
    r"usa today|"
    r"[\w-]+\.(?:com|org|net|es|ar|mx|cl|co|uk|tv|info)"
    r")\b",
    re.IGNORECASE,
)
_VIA = re.compile(r"(?<=\w)\W{0,3} [(\[]via [^()\[\]]{1,40}[)\]]$", re.IGNORECASE)
_LONGEST_SOURCE = 5  # words
_SHORTEST_REST = 3
_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n")
_FEWEST_OF_TITLE = 4  # words; what is shorter is a label, such as "BREAKING"


def read_headline(message: str, *, date: datetime | None = None) -> Headline:
    """Return the headline in `message`, without links, labels and the name of the source.

    Of a headline with its article below, as channels post them, it is the first paragraph. `date`
    is the headline's own date, if known. The text is empty if the message holds only links
    and blanks.
    """
    written = _OVERRIDES.sub("", _LINK.sub(" ", message.replace("\0", " ")))
    text = _BLANKS.sub(" ", first_paragraph(written)).strip()
    text = _VIA.sub("", text)
    if len(text) > _LONGEST:
        text = text[:_LONGEST].rsplit(" ", 1)[0]
    unlabelled = _LABEL.sub("", text)
    text = unlabelled if _WORDS.search(unlabelled) else text  # it may be a label alone
    return Headline(text=_without_source(text), original=message, date=date)


def first_paragraph(text: str) -> str:
    """Return the first paragraph that is long enough for a headline, or the whole text."""
    paragraphs = _PARAGRAPHS.split(text)
    titles = (
        paragraph for paragraph in paragraphs if len(_WORDS.findall(paragraph)) >= _FEWEST_OF_TITLE
    )
    return next(titles, text)


def _without_source(text: str) -> str:
    """Drop "- BBC News" or "| La Nación" from the end, unless nothing else is left."""
    match = _SUFFIX.search(text)
    if not match or len(_WORDS.findall(text[: match.start()])) < _SHORTEST_REST:
        return text
    source = match["source"]
    if len(source.split()) > _LONGEST_SOURCE:
        return text
    # A dash also joins two halves of a headline; a bar hardly ever does.
    certain = match["mark"] in "|·•»"
    return text[: match.start()] if certain or _OUTLET.search(source) else text
