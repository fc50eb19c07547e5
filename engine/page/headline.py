"""Chooses the headline of a page from what it says of itself, or tells why there is none. Pure.

Pages that stand before an article (consents, logins, checks for robots, errors, empty shells) have
titles as well. A title that is the name of the site, or of one word, is no headline; nor is one
that such pages have, in whatever place they put it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from urllib.parse import unquote, urlsplit

from engine.page.metadata import Page
from engine.prophecy.headline import read_headline

_WORDS = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_SEPARATORS = re.compile(r"\s{1,9}[|·•»«–—-]\s{1,9}|\s{0,9}[|·•]\s{0,9}")
_EDGES = " |·•»«-–—:"
_FEWEST_WORDS = 2
_MOST_OF_NAME = 4  # words of a site's name
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")  # letters without blanks
_FEWEST_UNSPACED = 4  # letters
_SHORT_TITLE, _SHORT_TEXT = 3, 1_500  # words, and letters: a page with less has no article
_NOT_TOLD = ".!?¿¡…-–— \"'“”«»"
_SLUG_WORD = re.compile(r"[^\W_]+")
_FEWEST_SLUG_WORDS = 3
_LONGEST_SLUG = 200
_ENDING = re.compile(r"\.[a-z]{2,5}$", re.IGNORECASE)
_IDENTIFIER = re.compile(r"(?=.*\d)[0-9a-f]{6,}|\d{5,}|[a-z]?\d{6,}", re.IGNORECASE)

# What pages are called that have no name of their own.
_NAMELESS = (
    r"(?:untitled|unbenannt|sans titre|s(?:in|em) t[ií]tulo)(?: \w+)?",
    r"(?:home|main|start|front|landing|new|default|blank) ?-?(?:page|site|tab|document)?",
    r"page (?:title|\d+)|latest news|top stories|(?:site|web ?page) title",
    r"(?:p[aá]gina )?(?:inicio|principal|de inicio|inicial)|page d['’]accueil",
    r"telegram . a new era of messaging|wayback machine|google news|webpage archive",
    r"reddit . (?:dive into anything|the heart of the internet)|tiktok . make your day",
    r"msn \W .{1,80}|instagram photos and videos|internet archive",
)
_TO_READ = r"(?:read|continue|view|access|watch|unlock|see)\b.{0,50}"
_LOGINS = (
    r"(?:please )?(?:log|sign) ?(?:in|on|up)(?: page| required|(?: |, )(?:to|or|with|for"
    r"|and) .{1,60})?",
    r"(?:log|sign) ?into .{1,30}|(?:log|sign) ?in . .{1,30}|create (?:an|your) account",
    rf"(?:subscribe|register|join)(?: (?:now|today))?(?: (?:to|and) {_TO_READ})?",
    r"subscription required|subscriber[- ](?:only|exclusive)(?: content)?|members only",
    r"(?:inicia|iniciar|inicie) sesi[oó]n(?: .{1,40})?|identif[ií]cate",
    r"suscr[ií]b(?:ete|ase|ite)(?: (?:para|a) .{1,50})?|(?:se )?connecter(?: [àa] .{1,30})?",
    r".{1,20}: log ?in or sign ?up",
    r"connexion|connectez-vous.{0,40}|abonnez-vous.{0,40}"
    r"|(?:jetzt )?(?:anmelden|einloggen|abonnieren)",
    r"anmeldung(?: erforderlich)?|bei .{1,30} anmelden|accedi(?: a .{1,30})?"
    r"|abbonati(?: .{1,40})?",
)
_ROBOT_CHECKS = (
    r"just a (?:moment|second)|one moment(?:,? please)?|(?:please )?wait(?:ing)?"
    r"|please wait.{0,40}",
    r"robot or human|let['’]s confirm you are human"
    r"|access denied . .{1,30} used cloudflare.{0,40}",
    r"one more step|loading(?: (?:page|site|content).{0,20})?|un momento(?:,? por favor)?"
    r"|cargando",
    r"un instant(?:,? s['’]il .{1,15})?|(?:nur )?einen? moment(?: bitte)?"
    r"|(?:einen )?moment(?: bitte)?",
    r"bitte warten"
    r"|(?:you are |you['’]re )?(?:being )?redirect(?:ing|ed)(?: (?:you|to|in)\b.{0,40})?",
    r"redirect(?:ion)?(?: notice| page)?|are you (?:a |not a )?(?:robot|human)",
    r"(?:please )?(?:verify|verifying|confirm)(?: that)? you(?:r|['’]re)?\b.{0,50}",
    r"(?:please )?(?:complete|solve) (?:the|this) .{0,20}(?:captcha|challenge|check)",
    r"(?:human|bot|robot|browser|security|captcha|identity|age|client|access|device)[ -]"
    r"(?:verification|check|checkpoint|challenge|test|validation)(?: required)?",
    r".{1,25} security check(?:point)?|(?:re)?captcha(?: .{1,20})?|bot protection|ddos[- ]guard",
    r"(?:checking|validating|securing|testing) (?:if the site|your (?:browser|connection"
    r"|device))\b.{0,50}",
    r"attention required.{0,30}|pardon (?:our|the) interruption"
    r"|unusual (?:traffic|activity) from .{1,40}",
    r"(?:please )?(?:enable|turn on|activate) (?:js|javascript|cookies)\b.{0,60}",
    r"(?:javascript|js|cookies?) (?:is|are|has been|must be) "
    r"(?:not available|disabled|enabled|required|not supported|blocked|turned off)\b.{0,40}",
    r"(?:unsupported|incompatible|outdated) browser|(?:please )?update your browser",
    r"(?:your|this) browser (?:is|isn['’]t|is not) .{0,40}",
    r"(?:verifica|comprueba|confirma)(?:ndo)? (?:que|tu|su) .{0,15}(?:robot|humano|navegador)",
    r"v[ée]rification (?:de s[ée]curit[ée]|humaine|en cours|que vous).{0,20}",
    r"sicherheits(?:[uü]berpr[uü]fung|pr[uü]fung|check)|sind sie ein (?:mensch|roboter)",
)
_COOKIE = r"(?:cookies?|privacy|consent|gdpr|ad)"
_CONSENTS = (
    r"before you (?:continue|go|proceed) (?:to|on) .{1,30}|before you continue",
    r"bevor sie .{0,30}(?:weitergehen|fortfahren|weiterlesen)|zanim przejdziesz.{0,40}",
    r"antes de (?:ir|continuar|acceder|avan[cç]ar|prosseguir) (?:a|en|para|no|na) .{1,30}",
    r"prima di (?:continuare|procedere)(?: (?:su|con|a) .{1,30})?"
    r"|voordat (?:je|u) verder ?gaat.{0,30}",
    r"avant d(?:e |['’])(?:continuer|acc[eé]der|poursuivre)(?: (?:vers|[àa]|sur) .{1,30})?",
    r"yahoo (?:is|est|ist|es|fait|forma|fa) .{0,20}(?:part|teil|famil).{0,60}",
    rf"(?:your |manage |about |our )?{_COOKIE}(?: (?:and|&) {_COOKIE})?[ -]"
    r"(?:consent|settings?|preferences?|choices?|cent(?:er|re)|options|notice|policy|wall"
    r"|manager)",
    r"we (?:value|care about|respect) your privacy.{0,20}|we use cookies.{0,30}"
    r"|accept (?:all )?cookies",
    r"(?:configuraci[oó]n|preferencias|pol[ií]tica|ajustes|aviso) de (?:la )?(?:privacidad"
    r"|cookies)"
    r"(?: y (?:las? )?(?:cookies|privacidad))?|(?:tu|su) privacidad(?: .{1,20})?",
    r"(?:datenschutz|privatsph[aä]re|cookie)[ -]?(?:einstellungen|hinweise?|zentrum|zustimmung)",
    r"(?:ihre )?(?:zustimmung|einwilligung)(?: (?:zu|zur) .{1,30})?"
    r"|.{0,30}mit werbung (?:weiter)?lesen",
    r"(?:impostazioni|informativa|preferenze)(?: sulla| della| sui)? (?:privacy"
    r"|cookie)(?: e .{1,15})?",
    r"(?:param[eè]tres|gestion|politique) (?:de |des |du )(?:la )?(?:confidentialit[eé]|cookies"
    r"|consentement)",
    r"(?:defini[cç][oõ]es|configura[cç][oõ]es|pol[ií]tica) de (?:privacidade|cookies)",
    r"(?:.{1,20} )?privacy ?gate|consent form|zustimmung erforderlich",
    r"(?:privacy|cookie)[ -]?(?:instellingen|voorkeuren|toestemming)",
)
_ERRORS = (
    r"(?:error |http |status |fehler |erreur )?[345]\d\d(?:[ :.-]+(?:error|forbidden|unauthorized"
    r"|(?:page )?not found|bad gateway|service unavailable|internal server error|access denied"
    r"|too many requests|gateway time-?out))?",
    r"(?:(?:the|this|that|requested) )*(?:page|file|url|content|site|article) (?:you .{3,30} )?"
    r"(?:was |is |could |can )?(?:not|no longer|cannot) (?:be )?(?:found|available"
    r"|exist)(?: .{1,20})?",
    r"(?:sorry|oops|whoops|uh[- ]oh|hmm)\W+(?:this|that|the|we|your?|something|page|but)\b.{0,50}",
    r"(?:(?:this|that|the) )?(?:page|content|site|story|video|post|account|link) "
    r"(?:isn['’]t |is not |is no longer |is (?:currently |temporarily )?un)available(?: .{1,30})?",
    r"(?:we )?(?:can['’]t|cannot|could not|couldn['’]t) find (?:that|this|the) page.{0,20}",
    r"(?:page )?not found|(?:page )?unavailable|forbidden|bad (?:gateway|request)"
    r"|gateway time-?out",
    r"(?:service|site|page|website|content) (?:temporarily )?unavailable|temporarily unavailable",
    r"internal server error|(?:server|application|unknown|an?|unexpected|database|fatal) error"
    r"(?: (?:has )?occurred)?|error(?: page)?|something went wrong(?:[.,] .*)?",
    r"access (?:is |to this (?:page|site) (?:has been|is|was) )?(?:denied|blocked|restricted"
    r"|forbidden)",
    r"(?:sorry,? )?you (?:have been|are|were) (?:blocked|banned|unable to access)\b.{0,40}",
    r"blocked|(?:request )?(?:blocked|rejected)|too many requests|account suspended",
    r"(?:(?:the |this |our |web)?(?:site|page) |we(?: are|['’]re) )?(?:is )?(?:currently "
    r"|temporarily )?"
    r"(?:down |undergoing |under |in |on |closed for |for )*(?:scheduled )?maintenance(?: mode)?",
    r"(?:site |page )?under construction|coming soon|be right back|(?:we['’]ll )?be back soon",
    r"(?:this .{1,15} is )?not available in your (?:region|country|area)"
    r"|unavailable for legal reasons",
    r"acceso (?:denegado|restringido|prohibido)|p[aá]gina n(?:o|[aã]o) (?:encontrada|disponible)",
    r"no se (?:ha )?encontr(?:[oó]|ado) la p[aá]gina"
    r"|(?:seite|artikel) nicht (?:gefunden|verf[uü]gbar)",
    r"zugriff verweigert|page (?:introuvable|non trouv[eé]e|indisponible)|accesso negato",
    r"acc[eè]s (?:refus[eé]|interdit|bloqu[eé])|pagina (?:non trovata|niet gevonden)",
    r"wartungs(?:arbeiten|modus)|en mantenimiento|en maintenance",
    r"(?:this |the )?(?:domain|website|site)(?: name)? (?:is |has been |may be )?"
    r"(?:for sale|parked|suspended|expired)",
)
# Pages of networks are called after who wrote, and not after what.
_PROFILES = (
    r".{1,60} \(@[\w.]+\)(?: (?:on|en|auf|sur|su) \w+)?|(?:telegram: )?(?:view|contact|join) @\w+",
    r"see posts, photos and more.{0,30}",
    r"@?[\w.]+ on (?:x|twitter|threads|instagram|tiktok)|(?:instagram|facebook|tiktok) . \w+",
)
_KINDS = (_NAMELESS, _LOGINS, _ROBOT_CHECKS, _CONSENTS, _ERRORS, _PROFILES)
_PROFILE = re.compile("|".join(_PROFILES), re.IGNORECASE)
_NO_ARTICLE = re.compile("|".join(name for kind in _KINDS for name in kind), re.IGNORECASE)
# Words that are telling in a title of two or three over a page without text.
_TELLING = re.compile(
    r"\b(?:captcha|robot|cookies?|consent|privacy|challenge|checkpoint|redirect\w*|verif\w+"
    r"|javascript|browser|denied|forbidden|unavailable|maintenance|log ?in|sign ?in|loading"
    r"|unsupported|privacidad|datenschutz|confidentialit[eé])\b",
    re.IGNORECASE,
)


class NoHeadline(Enum):
    """Why a page has no headline."""

    UNTITLED = "it says none"
    WALL = "it stands before the article"


@dataclass(frozen=True, slots=True)
class _Title:
    text: str
    of_page: bool = False  # <title> or <h1>: over a wall they are the wall's


def choose_headline(page: Page, url: str) -> str | NoHeadline:
    """Return the headline of the page that came from `url`, or why there is none.

    The first title that is one counts: og:title, twitter:title, JSON-LD, <title>, <h1>, without the
    name of the site. Where the page's own title is that of a wall, its heading is, too.
    """
    names = _list_names(page, url)
    if post := _read_post(page, url):
        return post
    if page.own_title and _PROFILE.fullmatch(page.own_title.strip(_NOT_TOLD)):
        return NoHeadline.WALL
    is_wall = False
    for title in _list_titles(page):
        text = _without_names(title.text, names)
        if title.of_page and is_wall:
            break
        if is_wall_title(title.text) or is_wall_title(text) or _is_bare_wall(text, page):
            is_wall |= title.of_page
            continue
        if _is_headline(text, names, has_article=page.text_length >= _SHORT_TEXT):
            return text
    titled = any(title.text for title in _list_titles(page))
    return NoHeadline.WALL if titled else NoHeadline.UNTITLED


def _list_titles(page: Page) -> Iterator[_Title]:
    yield from (_Title(text) for text in page.shared_titles)
    if page.own_title:
        yield _Title(page.own_title, of_page=True)
    yield from (_Title(text, of_page=True) for text in page.headings)


def _list_names(page: Page, url: str) -> frozenset[str]:
    """Return the names of the site, folded: those it gives, its host, and what stands behind the
    longer part of its title and is a whole title elsewhere."""
    host = (_host_of(url) or "").removeprefix("www.")
    site = page.site or ""
    named = {site if _is_short(site) else "", host, host.partition(".")[0]}
    parts = _SEPARATORS.split(page.own_title or "")
    first, last = parts[0], parts[-1]
    if _is_short(last) and len(_WORDS.findall(first)) > len(_WORDS.findall(last)):
        named |= {text for text in page.shared_titles if _fold(text) == _fold(last)}
    return frozenset(_fold(name) for name in named if name)


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _is_short(part: str) -> bool:
    return 0 < len(_WORDS.findall(part)) <= _MOST_OF_NAME


def _fold(text: str) -> str:
    return " ".join(word.casefold() for word in _WORDS.findall(text))


def _without_names(title: str, names: frozenset[str]) -> str:
    """Return a title without the name of the site at its end or beginning."""
    text = read_headline(title).text.strip()
    for match in reversed(list(_SEPARATORS.finditer(text))):
        if _fold(text[match.end() :]) in names:
            text = text[: match.start()]
    first = _SEPARATORS.search(text)
    if first and _fold(text[: first.start()]) in names:
        text = text[first.end() :]
    return text.strip(_EDGES)


def is_wall_title(title: str) -> bool:
    """Tell whether a title, or a part of it beside a name, is that of a page before an article."""
    if _NO_ARTICLE.fullmatch(title.strip(_NOT_TOLD)):
        return True
    parts = [part.strip(_NOT_TOLD) for part in _SEPARATORS.split(title)]
    edges = (parts[:1], parts[1:]), (parts[-1:], parts[:-1])
    return len(parts) > 1 and any(
        _NO_ARTICLE.fullmatch(edge[0]) is not None and all(map(_is_short, rest))
        for edge, rest in edges
    )


def _is_bare_wall(text: str, page: Page) -> bool:
    few = len(_WORDS.findall(text)) <= _SHORT_TITLE
    return few and page.text_length < _SHORT_TEXT and _TELLING.search(text) is not None


def _is_headline(text: str, names: frozenset[str], *, has_article: bool) -> bool:
    """Tell whether a title says something; one of a single word does so over an article alone."""
    fewest = 1 if has_article and "." not in text.strip(_NOT_TOLD) else _FEWEST_WORDS
    enough = len(_WORDS.findall(text)) >= fewest
    enough = enough or len(_UNSPACED.findall(text)) >= _FEWEST_UNSPACED
    return enough and _fold(text) not in names and any(map(str.isalpha, text))


def _read_post(page: Page, url: str) -> str | None:
    """Return the beginning of a post on Telegram, whose page is called after its channel."""
    host, path = _host_of(url), urlsplit(url).path
    if host not in {"t.me", "telegram.me"} or not re.fullmatch(r"(?:/s)?/\w+/\d+/?", path):
        return None
    text = read_headline(page.description or "").text
    return text if len(_WORDS.findall(text)) > _FEWEST_WORDS else None


def slug_words(url: str) -> str | None:
    """Return the words of an address ("dow-falls-500-points"), or None if it names none."""
    try:
        path = unquote(urlsplit(url).path)
    except ValueError:
        return None
    candidates = (_words_of_segment(segment) for segment in reversed(path.split("/")))
    return next((words for words in candidates if words), None)


def _words_of_segment(segment: str) -> str | None:
    words = [
        word
        for word in _SLUG_WORD.findall(_ENDING.sub("", segment))
        if not _IDENTIFIER.fullmatch(word)
    ]
    is_told = len(words) >= _FEWEST_SLUG_WORDS and sum(word.isalpha() for word in words) >= 2
    return " ".join(words)[:_LONGEST_SLUG] if is_told else None
