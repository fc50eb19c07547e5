"""Chooses the headline of a page from what it says of itself, or tells why there is none. Pure.

Pages that stand before an article (consents, logins, checks for robots, errors, empty shells) have
titles as well. A title that is the name of the site, or of one word, is no headline; nor is one
that such pages have, in whatever place they put it.
"""

import re
from dataclasses import dataclass
from enum import Enum
from urllib.parse import unquote, urlsplit

from engine.page.metadata import Page
from engine.prophecy.headline import read_headline
from engine.text.clean import fold_case_and_accents

_WORDS = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_LAST_PARTS = 10  # of a title that may be the name of the site; a hostile one has thousands
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
_FEWEST_IN_ADDRESS = 4  # words of a title
_LONGEST_SLUG = 200
_ENDING = re.compile(r"(?:\.[a-z]{2,5}){1,3}$", re.IGNORECASE)
_IDENTIFIER = re.compile(
    r"(?=.*\d)[0-9a-f]{6,}|\d{5,}|[a-z]{1,5}\d{4,}|id(?=.*\d)\w{8,}", re.IGNORECASE
)

# What pages are called that have no name of their own.
_NAMELESS = (
    r"(?:untitled|unbenannt|sans titre|s(?:in|em) t[ií]tulo)(?: \w+)?",
    r"(?:home|main|start|front|landing|new|default|blank|test) ?-?(?:page|site|tab|document)?",
    r"page (?:title|\d+)|latest news|top stories|(?:site|web ?page) title|search results",
    r"(?:p[aá]gina )?(?:inicio|principal|de inicio|inicial)|page d['’]accueil",
    r"telegram . a new era of messaging|(?:.{1,20}: )?wayback machine|google news|webpage archive",
    r"reddit . (?:dive into anything|the heart of the internet)|tiktok . make your day",
    r"msn \W .{1,80}|instagram photos and videos|internet archive|12ft\b.{0,30}",
    r"(?:react|vite|vue|angular|next\.?js|nuxt|svelte)(?: \+ \w+)?(?: app)?|(?:tweet|x) / x",
    r"index of /.{0,60}|apache2? .{0,20}default page\b.{0,20}|welcome to nginx",
    r"terms (?:of|and) (?:service|use|conditions)",
)
_TO_READ = r"(?:read|continue|view|access|watch|unlock|see)\b.{0,50}"
_LOGINS = (
    r"(?:please )?(?:log|sign) ?(?:in|on|up)(?:(?: |, )(?:to|or|with|for|and) .{1,60})?",
    r"(?:log|sign) ?into .{1,30}|(?:log|sign) ?in . .{1,30}|create (?:an|your) account",
    rf"(?:subscribe|register|join)(?: (?:now|today))?(?: (?:to|and) {_TO_READ})?",
    r"join \w{1,20}|\w{1,20} login, sign in|(?:inicia|iniciar|inicie) sesi[oó]n(?: .{1,40})?",
    r"identif[ií]cate|suscr[ií]b(?:ete|ase|ite)(?: (?:para|a) .{1,50})?"
    r"|(?:se )?connecter(?: [àa] .{1,30})?|(?:jetzt )?(?:einloggen|abonnieren)",
    r".{1,20}: log ?in or sign ?up|(?:jetzt )?weiterlesen mit .{1,20}",
    r"connexion|connectez-vous.{0,40}|abonnez-vous.{0,40}",
    r"anmeldung(?: erforderlich)?|(?:bei .{1,30} |jetzt )?anmelden|accedi(?: a .{1,30})?"
    r"|abbonati(?: .{1,40})?",
)
_ROBOT_CHECKS = (
    r"(?:robot or )?human|(?:human|identity) verification|let['’]s confirm you are human",
    r"access denied . .{1,30} used cloudflare.{0,40}",
    r"(?:please )?wait\b.{0,40}|loading(?: (?:page|site|content).{0,20})?|one more step",
    r"(?:just a|one) (?:moment|second)(?:,? please)?|un momento(?:,? por favor)?",
    r"un instant(?:,? s['’]il .{1,15})?|(?:nur )?(?:einen? )?moment(?:,? bitte)?",
    r"(?:you are |you['’]re )?(?:being )?redirect(?:ing|ed)(?: (?:you|to|in)\b.{0,40})?",
    r"(?:please )?(?:verify|verifying|confirm)(?: that)? you(?:r|['’]re)?\b.{0,50}",
    r"(?:please )?(?:complete|solve) (?:the|this) .{0,20}(?:captcha|challenge|check)",
    r".{1,25} (?:security check(?:point)?|captcha)(?: page)?|(?:re)?captcha(?: .{1,20})?",
    r"(?:checking|validating|securing|testing) (?:if the site|your (?:browser|connection"
    r"|device))\b.{0,50}",
    r"attention required.{0,30}|pardon (?:our|the) interruption"
    r"|unusual (?:traffic|activity) from .{1,40}",
    r"(?:please )?(?:enable|turn on|activate) (?:js|javascript|cookies)\b.{0,60}",
    r"(?:javascript|js|cookies?) (?:is|are|has been|must be) "
    r"(?:not available|disabled|enabled|required|not supported|blocked|turned off)\b.{0,40}",
    r"(?:your|this) browser (?:is|isn['’]t|is not) .{0,40}|ddos[- ](?:guard|protection).{0,30}",
    r"v[ée]rification (?:de s[ée]curit[ée]|humaine|en cours|que vous).{0,20}",
    r"sicherheits(?:[uü]berpr[uü]fung|pr[uü]fung|check)",
)
_COOKIE = r"(?:cookies?|privacy|consent|gdpr|ad)"
_CONSENTS = (
    r"before you (?:continue|go|proceed) (?:to|on) .{1,30}|before you continue",
    r"bevor sie .{0,30}(?:weitergehen|fortfahren|weiterlesen)|zanim przejdziesz.{0,40}",
    r"antes de (?:ir|continuar|acceder|avan[cç]ar|prosseguir) (?:a|en|para|no|na) .{1,30}",
    r"prima di (?:continuare|procedere)(?: (?:su|con|a) .{1,30})?"
    r"|voordat (?:je|u) verder ?gaat.{0,30}",
    r"avant d(?:e |['’])(?:continuer|acc[eé]der|poursuivre)(?: (?:vers|[àa]|sur) .{1,30})?",
    r"innan du forts[äa]tter.{0,30}|f[øo]r du forts[æe]tter.{0,30}|.{1,20} gitmeden [öo]nce"
    r"|перед тем,? как перейти.{0,30}|.{1,20}に移動する前に|.{0,20}继续前往.{1,20}前.{0,20}",
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
    r"(?:.{1,20} )?privacy ?gate|zustimmung erforderlich",
    r"(?:privacy|cookie)[ -]?(?:instellingen|voorkeuren|toestemming)",
)
_ERRORS = (
    r"(?:error |http |status |fehler |erreur |ошибка )?[345]\d\d"
    r"(?:[ :.-]+(?:gone|.{0,20}(?:error|forbidden|required|denied|gateway|fetch failed)))?",
    r"(?:sorry|oops|whoops|uh[- ]oh|hmm)\W+(?:this|that|the|we|your?|something|page|but)\b.{0,50}",
    r"(?:sorry,? )?you (?:have been|are|were) (?:blocked|banned|unable to access)\b.{0,40}",
    r"something went wrong(?:[.,] .*)?|application error: .{1,60}|(?:web )?page blocked",
    r"(?:hrm\. )?the wayback machine has not .{1,40}|error: the request .{1,40}",
    r"request unsuccessful\. .{1,60}|nothing found for .{1,80}",
    r"(?:[\w-]+\.)+\w+ is for sale|.{1,30} application control|private (?:video|account|page)",
    r"(?:this |the )?(?:domain|website|site)(?: name)? (?:is |may be )?for sale|too many requests",
    r"(?:we['’]ll )?be (?:right )?back(?: soon)?|coming soon|(?:site |page )?under construction",
    r"not acceptable|method not allowed|rate limited|technical difficulties|external link warning",
    r"(?:select|choose|confirm) your (?:age|country|language|region)|continue to site",
    r"(?:not |un)available in your (?:region|country|area)|web filter violation|wartungsarbeiten",
    r"(?:you are )?leaving (?:our site|\w+)|.{0,15}(?:見つかりません|存在しません|読み込み中).{0,8}"
    r"|.{0,8}(?:页面|网页|頁面|網頁).{0,8}(?:不存在|错误|錯誤|找不到)|找不到.{0,4}(?:页面|网页|頁面"
    r"|網頁)|404错误|.{0,15}찾을 수 없습니다|الصفحة غير موجودة",
)
# A title wholly of these words, some of the first group, is that of an error or of a wall.
_WORDS_OF_WALLS = """
    abonnes acces acceso access accesso authorization available banned blocked bloque bot browser
    bulunamadi bulunamadı captcha cargando caricamento carregando challenge chargement check
    checkpoint cookies denegado denied disabled disponible encontrada encontrado encontro erreur
    erro error errore errors exist exista existe existiert exists expired fatal fehler find
    forbidden found fundet funnet gefunden geladen gevonden hata hittades hittas indisponible
    interdit interruption introuvable invalid javascript js laden leyendo loading login maintenance
    mantenimiento manutenzione members n'existe negato offline parked prohibido redireccion redirect
    redirected redirecting redirection refuse refused rejected restricted restringido robot robots
    subscriber subscribers subscription supported suscriptores suspended time-out timeout trouve
    trouvee trovata trovato unauthorized unavailable unsupported validation verfugbar verification
    verify verifying verweigert warten wartung wartungsmodus weiterleitung znaleziona znaleziono
    zugriff доступ загрузка наидена наидено ограничен ошибка
"""
_WORDS_BESIDE = """
    1 401 403 404 410 429 451 500 502 503 504 a abbiamo accede accedi account activity address again
    age al alert algo all an and anymore app application are article articulo artikel as at au
    aufgetreten aux back be been before being bir bitte blev bu buscas by can can't cannot ce cet
    cette che choose client close code con confirm connection construction contenido content
    continue could couldn't country cours currently d'acceder das database de del den der des det
    device deze di die diese dieser dieses doesn't domain du due e ein einem einen ej el em en
    enable er es essa esse est esta establishing este et exclusivo favor file foi for from gateway
    go gone ha han has have here het hour http i'm identity if ihr ikke il in incompatible
    inte intentalo internal is isn't ist it it's jetzt just kan kein keine kon kunde kunne l'article
    la las le legal les link lire lo longer looking los making many mehr mensch method moment more
    n'est n'existe name nao ne need network nginx nicht nichts nie niet no non not notice
    notification now o occurred ocurrido of off on one only op or os our out page pages pagina para
    parece pas per please plus por post pour private process profile que questa questo rate reading
    reasons region reload request requested requests required reserve right rights roboter run sayfa
    scheduled se security seguir seite seiten select server service session si sida sidan side siden
    sie sind site sites sitio something soon sorry stato status story strona su suite sure survenue
    system te technical technische temporarily test that the their there this time to too try tu
    turn un una under une unexpected unknown up update url us verificato via video view votre vous
    warning was we we'll we're web website went what will wird works wrong wurde wurden y ya you
    you're you've your zostala została zu на не страница эта этои этот
"""
# Pages of networks are called after who wrote, and not after what.
_PROFILES = (
    r".{1,60} \(@[\w.@-]+\)(?: (?:on|en|auf|sur|su) \w+)?",
    r"(?:telegram: )?(?:view|contact|join) @\w+|see posts, photos and more.{0,30}",
    r"@?[\w.]+ on (?:x|twitter|threads|instagram|tiktok)|(?:instagram|facebook|tiktok) . \w+",
)
_POST = re.compile(
    r".{1,60} (?:on|en|auf|sur|su) (?:X|Twitter|Threads|Instagram|LinkedIn|Facebook|TikTok):\s"
    r"[\"“«](.{20,})[\"”»](?: / X)?",
    re.DOTALL,
)
_KINDS = (_NAMELESS, _LOGINS, _ROBOT_CHECKS, _CONSENTS, _ERRORS, _PROFILES)
_PROFILE = re.compile("|".join(_PROFILES), re.IGNORECASE)
_TELLING_WORDS = frozenset(_WORDS_OF_WALLS.split())
_WALL_WORDS = _TELLING_WORDS | frozenset(_WORDS_BESIDE.split())
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
    of_page: bool = True  # <title> or <h1>: over a wall they are the wall's


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
    own = filter(None, (page.own_title, *page.headings))
    titles = [*(_Title(text, of_page=False) for text in page.shared_titles), *map(_Title, own)]
    for title in titles:
        text = _without_names(title.text, names)
        if title.of_page and is_wall:
            break
        if _is_in_address(text, url):
            return text
        if is_wall_title(title.text) or is_wall_title(text) or _is_bare_wall(text, page):
            is_wall |= title.of_page
            continue
        if _is_headline(text, names, has_article=page.text_length >= _SHORT_TEXT):
            return text
    return NoHeadline.WALL if any(title.text for title in titles) else NoHeadline.UNTITLED


def is_home(url: str) -> bool:
    """Return whether an address is that of a site's first page, to which removed articles lead."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.path in ("", "/") and not parts.query


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
    """Return a name without blanks, as a host has it, and without an English article."""
    return fold_case_and_accents("".join(_WORDS.findall(text))).removeprefix("the")


def _without_names(title: str, names: frozenset[str]) -> str:
    """Return a title without the name of the site at its end or beginning."""
    post = _POST.fullmatch(title.strip())
    text = post[1] if post else title.strip()
    for match in reversed(list(_SEPARATORS.finditer(text))[-_LAST_PARTS:]):
        if _fold(text[match.end() :]) in names:
            text = text[: match.start()]
    first = _SEPARATORS.search(text)
    if first and _fold(text[: first.start()]) in names:
        text = text[first.end() :]
    return read_headline(text).text.strip(_EDGES)


def is_wall_title(title: str) -> bool:
    """Return whether a title, or its part beside a name, is that of a page before an article."""
    if _is_of_wall(title):
        return True
    parts = [part.strip(_NOT_TOLD) for part in _SEPARATORS.split(title)]
    edges = (parts[:1], parts[1:]), (parts[-1:], parts[:-1])
    return len(parts) > 1 and any(
        _is_of_wall(edge[0]) and all(map(_is_short, rest)) for edge, rest in edges
    )


def _is_of_wall(title: str) -> bool:
    """Return whether a title is a phrase of such pages, or consists of their words alone."""
    if _NO_ARTICLE.fullmatch(title.strip(_NOT_TOLD)):
        return True
    words = set(_WORDS.findall(fold_case_and_accents(title.replace("’", "'"))))
    return words <= _WALL_WORDS and not words.isdisjoint(_TELLING_WORDS)


def _is_in_address(text: str, url: str) -> bool:
    """Return whether an address names a title, as that of its article."""
    slug, title = (fold_case_and_accents(words) for words in (slug_words(url) or "", text))
    return len({*_WORDS.findall(slug)} & {*_WORDS.findall(title)}) >= _FEWEST_IN_ADDRESS


def _is_bare_wall(text: str, page: Page) -> bool:
    few = len(_WORDS.findall(text)) <= _SHORT_TITLE
    return few and page.text_length < _SHORT_TEXT and _TELLING.search(text) is not None


def _is_headline(text: str, names: frozenset[str], *, has_article: bool) -> bool:
    """Return whether a title says something; one of a single word does so over an article alone."""
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
    for segment in reversed(path.split("/")):
        named = _SLUG_WORD.findall(_ENDING.sub("", segment))
        words = [word for word in named if not _IDENTIFIER.fullmatch(word)]
        if len(words) >= _FEWEST_SLUG_WORDS and sum(map(str.isalpha, words)) >= 2:
            return " ".join(words)[:_LONGEST_SLUG]
    return None
