"""Parses the headers of chat messages in any language: date, time and speaker.

Digits are those of any script. The words for morning and afternoon stand on either side of the
clock, and date and clock in either order.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MARKS = re.compile("[\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_SPACES = re.compile("[\u00a0\u202f\u2007\u2009]")
_WORD = r"[^\W\d_]"
_DATE = (
    r"\d{1,4}\s?[./\-年년]\s?\d{1,2}\s?[./\-月월]\s?\d{1,4}(?:\.|\s?[日일])?"
    rf"|\d{{1,2}}\.?\s(?:de\s)?{_WORD}{{3,12}}\.?,?(?:\s(?:de\s)?\d{{4}}\b)?"
    rf"|{_WORD}{{3,12}}\.?\s\d{{1,2}}(?!\d|[:.]\d)(?:,?\s\d{{4}}\b)?"
)
_CLOCK = r"\d{1,2}(?:[:.]|\s?h\s?)\d{2}(?:[:.]\d{2}|\s?min\s\d{2}\s?s)?"  # "20 h 11" in Canada
# "p. m.", "μ.μ.", "오후", "ÖS"; marks of vowels are no word characters.
_PART = r"[^\W\d_][^\d\s\[\](){}<>:,،;|-]{0,11}(?:\s[^\W\d_]{1,2}\.)?"
_STAMP = re.compile(
    rf"(?P<date>{_DATE})(?P<before>[^\d\n\[\]:<>|]{{1,20}})(?P<clock>{_CLOCK})"
    rf"(?P<after>\s?{_PART})?",
)
_CLOCK_FIRST = re.compile(
    rf"(?P<before>{_PART}\s?)?(?P<clock>{_CLOCK})(?P<after>\s?{_PART})?[,،\s]+(?P<date>{_DATE})"
)
_BRACKETED, _DASHED, _COLON = (
    re.compile(r"\]\s?"),
    re.compile(r"\s[-–—](?:\s|$)"),
    re.compile(r":\s"),
)

# Words for the two halves of the day as chats write them, without stops and blanks.
_AFTERNOON_WORDS = (
    "pm 下午 晚上 中午 傍晚 午後 오후 ch ös م μμ du عصر بظ ptg petang malam"
    " अपराह्न मउ บ่าย หลังเที่ยง אחהצ слоб сл பிற்பகல் ਬਾਦੁ popiet үх md epasdites pasdite"
    " nm em eh ip odp pop popodne popoludní poslijepodne popoldne pēcpusd pēcpusdienā пп"
    " mchana jioni usiku gabi hapon nomëttes in iar"
)
_MORNING_WORDS = (
    "am 上午 早上 凌晨 清晨 午前 오전 sa öö ص πμ de صبح قظ pg pagi"
    " पूर्वाह्न मपू ก่อนเที่ยง לפנהצ проб முற்பகல் ਪੂਦੁ priešpiet үө pd eparadites paradite"
    " vm fm fh ap dop dopoledne dopoludnia prijepodne dopoldne priekšp priekšpusdienā дп"
    " asubuhi umaga moies rn"
)
_AFTERNOON, _MORNING = frozenset(_AFTERNOON_WORDS.split()), frozenset(_MORNING_WORDS.split())

_SAMPLED = 400  # lines
_LONGEST_NAME = r"[^\W_][^:\n<>\[\]\t|]{0,39}"
_SAID_AT = re.compile(  # "[20:11] <ana> hello", "20:11:05 From Ana to all: hello", "20:11 Ana: hi"
    rf"\W{{0,3}}(?:{_PART}\s?)?{_CLOCK}(?:\s?{_PART})?\W{{1,4}}"
    rf"(?:[@+%~]?{_LONGEST_NAME}(?::\s|>|\t|:$)|\*\s)"
)
_EARLY_CLOCK = re.compile(  # "12.3. kl. 20.11: Ana skrev", "[Ana] [오후 8:11] hi"
    rf"\W{{0,3}}(?:1\d{{9}}(?!\d)|\d{{1,4}}[^\n]{{1,24}}?(?<![\d:.]){_CLOCK}"
    rf"|[^\n]{{0,40}}[\[(](?:[^\])\n]{{1,24}}\s)?{_CLOCK}[^\])\n]{{0,24}}[\])])"
)
_ENDS_IN_CLOCK = re.compile(rf".{{0,60}}?(?<![\d:.]){_CLOCK}(?:\s?{_PART})?(?:\s?\(.*\))?\W{{0,2}}")
_SPOKEN = re.compile(rf"\W{{0,3}}(\+?{_LONGEST_NAME}?)(?:\s?:(?:\s|$)|\s?：|>\s|\s[-–—]\s)")
_MOST_WORDS = 4  # of a name
# Who speaks with an assistant, and the fields of a mail.
_ASKING_WORDS = "user human me you yo tú ich du moi vous io eu você usuario"
_ASSISTANT_WORDS = (
    "assistant ai bot chatgpt claude gemini grok copilot deepseek cursor asistente assistent"
    " assistente"
)
_MAIL_WORDS = (
    "from to cc subject sent von an betreff gesendet de para à asunto enviado objet assunto"
    " van aan onderwerp verzonden da a oggetto inviato från till ämne skickat fra til emne sendt"
    " od do temat předmět feladó címzett tárgy gönderen kime konu от кому тема від 发件人 收件人"
    " 主题 寄件者 收件者 主旨 差出人 宛先 件名 보낸사람 받는사람 제목 lähettäjä vastaanottaja aihe"
    " מאת אל נושא من إلى الموضوع"
)
_ASKING, _ASSISTANTS = frozenset(_ASKING_WORDS.split()), frozenset(_ASSISTANT_WORDS.split())
_MAIL = frozenset(_MAIL_WORDS.split())
_BRIEF = frozenset(("h", "a", "prompt", "response"))  # headings of other texts, too
_ASSISTANT = "ChatGPT|Claude|Gemini|Copilot|DeepSeek|Grok|Perplexity"
# "ChatGPT hat gesagt:", "O ChatGPT disse:", "ChatGPT의 말:"; what Claude prints to a terminal.
_ANSWERS = re.compile(rf"(?:\w{{1,2}}\s)?(?:{_ASSISTANT})의?(?:\s\w+){{1,2}}\s?[:：]|⏺ .*")
_SAYS = re.compile(
    rf"(?:You|{_ASSISTANT}) said|You sent|Enviaste|Has enviado|Du hast gesendet|Vous avez envoyé"
    r"|Hai inviato|Você enviou"
)
# Headings, bold words and lists of Markdown.
_MARKED = re.compile(r"^(?:[#>*_`\s-]+|\d+\.\s)+|[*_`]+")
_TITLE = re.compile(r"\w[\w ]*")
_WEEKDAY = re.compile(rf"{_WORD}{{2,12}}\.?,?\s(?=\d|{_WORD}{{3,12}}\.?\s\d)")
# "20:11 Ana hello" of LINE: the names come again.
_CLOCK_LED = re.compile(rf"(?:{_PART}\s?)?{_CLOCK}\s+(\S+)\s\S")
_FEW_LINES, _FEW_STAMPS = 4, 3


@dataclass(frozen=True, slots=True)
class Header:
    """What a message begins with, as written; `time` has the words for the half of the day."""

    date: str
    time: str
    rest: str


def strip_marks(text: str) -> str:
    """Return `text` without the invisible marks of direction."""
    return _MARKS.sub("", text)


def match_header(line: str) -> Header | None:
    """Return the header of a line such as "[12/03/23, 20:11:05] Ana: hi"."""
    lead = _clear(line)
    bracketed = lead.startswith("[")
    for pattern in (_STAMP, _CLOCK_FIRST):
        match = pattern.match(lead, 1 if bracketed else 0)
        if match and (end := _match_end(lead, match, bracketed=bracketed)):
            time = " ".join(match[name] or "" for name in ("before", "clock", "after"))
            return Header(match["date"], time, _cut_marked(line, lead, end.end()))
    return None


def _clear(line: str) -> str:
    return strip_marks(_SPACES.sub(" ", line[:300])) + line[300:]


def _cut_marked(line: str, lead: str, end: int) -> str:
    """Return what follows the header, with the invisible marks that iOS puts there."""
    left = len(lead) - end
    position = len(line)
    while left and position:
        position -= 1
        left -= not _MARKS.match(line[position])
    while position and _MARKS.match(line[position - 1]):
        position -= 1
    return line[position:]


def _match_end(lead: str, match: re.Match[str], *, bracketed: bool) -> re.Match[str] | None:
    if bracketed:
        return _BRACKETED.match(lead, match.end())
    if end := _DASHED.match(lead, match.end()):
        return end
    after = match["after"]
    return _COLON.match(lead, match.end()) if not after or half_of_day(after) else None


def half_of_day(words: str) -> str | None:
    """Return "am" or "pm" for the words on either side of a clock, None if they tell neither."""
    for word in (words, *words.split()):
        letters = "".join(each for each in word.casefold() if unicodedata.category(each)[0] in "LM")
        if letters in _AFTERNOON:
            return "pm"
        if letters in _MORNING:
            return "am"
    return None


def find_headers(text: str) -> Iterator[Header]:
    """Yield the header of every message that begins in `text`."""
    return (header for line in text.split("\n") if (header := match_header(line.rstrip("\r"))))


def looks_like_chat(text: str) -> bool:
    """Return whether a text holds messages, mails or a talk, which nobody may publish unasked."""
    lines = [line.strip() for line in _clear_lines(text)]
    if lines and lines[0].startswith("[LINE]"):
        return True
    pages = (lines[start : start + _SAMPLED] for start in range(0, len(lines), _SAMPLED))
    if any(map(_is_stamped_page, pages)) or _is_talk(lines[:_SAMPLED]):
        return True
    return len(lines) <= _FEW_LINES and any(map(_is_stamped, lines))


def _is_stamped_page(lines: Sequence[str]) -> bool:
    """Return whether lines have the times of messages, or times before names that come again."""
    if sum(bool(_STAMP.fullmatch(line)) for line in lines) > _FEW_STAMPS:
        return True
    stamped = sum(map(_is_stamped, lines))
    clocked = Counter(match[1] for line in lines if (match := _CLOCK_LED.match(line)))
    again = sum(number for number in clocked.values() if number > 1)
    times = max(stamped, again if again * 2 > clocked.total() else 0)
    return times > 1 and times * 10 >= len(lines)


def _clear_lines(text: str) -> Iterator[str]:
    return (_clear(line) for line in text.split("\n") if line.strip())


def _is_stamped(line: str) -> bool:
    bare = line.lstrip("[(<*_~ ")
    if any(
        pattern.match(begin)
        for pattern, begin in (
            (_STAMP, bare),
            (_STAMP, _WEEKDAY.sub("", bare, count=1)),
            (_CLOCK_FIRST, bare),
            (_SAID_AT, line),
            (_EARLY_CLOCK, line),
        )
    ):
        return True
    return len(line) < 90 and bool(_ENDS_IN_CLOCK.fullmatch(line))


def _is_talk(lines: Sequence[str]) -> bool:
    """Return whether lines begin with names, of which several come again."""
    if any(map(_ANSWERS.fullmatch, lines)) or sum(map(bool, map(_SAYS.fullmatch, lines))) > 1:
        return True
    bare = [_MARKED.sub("", line) for line in lines]
    speakers = Counter(
        name
        for line in bare
        if (match := _SPOKEN.match(line))
        and len((name := match[1].strip().casefold()).split()) <= _MOST_WORDS
    )
    sides = speakers.keys() & (_ASKING | _ASSISTANTS | _BRIEF)
    fields = _MAIL & {name.replace(" ", "") for name in speakers}
    if len(fields) > 1 or len(sides) > 1:
        return True
    marked = (line for line, written in zip(bare, lines, strict=True) if line != written)
    headings = {match[0].strip().casefold() for line in marked if (match := _TITLE.search(line))}
    if headings & _ASKING and headings & _ASSISTANTS:
        return True
    again = {name: number for name, number in speakers.items() if number > 1 and len(name) > 1}
    if again and len(speakers) > 1 and speakers.total() * 4 >= len(lines) * 3:
        return True
    return len(again) > 1 and sum(again.values()) * 2 >= len(lines)
