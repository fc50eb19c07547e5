"""Recognises the dialogue act of a message to the bot: headline, question, instruction or remark.

It goes by the words of the message alone, in English and Spanish.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import dropwhile

from bot.commands.headline_detection import is_laughter, is_plain_news
from bot.replies.dates import write_times
from engine.page.article import find_links, first_link
from engine.text.terms import FUNCTION_WORDS, folded_words


class DialogueAct(StrEnum):
    """What somebody does by saying something."""

    HEADLINE = "headline"
    QUESTION = "question"  # about what the bot showed, or what else there is
    INSTRUCTION = "instruction"  # how the bot is to behave
    REMARK = "remark"  # all else


class Wanted(StrEnum):
    """What a question wants to know."""

    SOURCE = "source"  # who wrote what was shown, when, and where it stands
    MORE = "more"  # further texts
    REASON = "why"  # why they were shown
    QUOTED = "quoted"  # texts about the message that it replies to
    ARCHIVE = "ask"  # what else was written: a subject or a time is named, or "about this"
    TEXTS = "texts"  # texts about a subject
    CORPUS = "corpus"  # what the archives hold
    MEANING = "help"  # of a word beside a text, which is its subject


@dataclass(frozen=True, slots=True)
class BotQuestion:
    """What a question wants to know, and the number of the text or the subject that it names."""

    wanted: Wanted
    rank: int | None = None
    subject: str = ""


_MAX_WORDS = 12  # of a question; of an instruction twice as many
_MAX_LONG = 18  # words of one that plainly asks about an answer
_MAX_CLAUSES = 4  # that are read for a question
_MAX_FOLLOW_UP = 7  # words of a follow-up question
_MAX_UNMARKED = 3  # words of a question without a question mark and without a question word
_MAX_FACT = 8  # words of a question with one that is not known
_MAX_UNMARKED_FACT = 7  # words of one like "who wrote that", which needs no question mark


def _split_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Kinds of words in questions, without accents. A word of none of these kinds names a subject.
_KINDS: Mapping[str, re.Pattern[str]] = {
    kind: re.compile(pattern, re.VERBOSE)
    for kind, pattern in {
        "speaking": r"""
            sa(?:y|ys|id|ying)|th(?:ink|inks|ought)|(?:re)?tweet(?:ed|ing)?|wr(?:ite|ote|itten)
            |mention(?:ed)?|talk(?:ed)?|post(?:ed)?|predict(?:ed)?|(?:pre)?di(?:ce|cen|jo|jeron)
            |decian?|dich[oa]|opin[ao]\w*|p(?:i?e)ns\w+|parece|escri\w+|pus[eo]|puesto|put
            |tuite\w+|mencion\w+|habl\w+|public\w+""",
        "source": """
            sources?|sauce|src|orig(?:in|en)|links?|url|author|accounts?|proof|receipts
            |original(?:e?s)?|screenshots?|fuentes?|enlaces?|autora?|cuenta|capturas?""",
        "when": r"""
            when|where|date|years?|old(?:est)?|newest|before|after|ago|long|cuando|donde|fecha|anos?
            |happen(?:ed|s)?|tiempo|viej[oa]s?|antigu[oa]s?|antes|despues|hace|elecci\w+|elections?
            |day|month|dia|mes""",
        "who": "who|whose|quien(?:es)?",
        "truth": r"""
            real|true|fake|legit|actual|genuine|auth?entic\w*|deleted?|verdad
            |ciert[oa]|posta|verdadero|fals[oa]|borr\w+|existe|ma(?:de|ke|king)|invent\w*
            |montaje|bulo|hoax|ai|ia|sure|segur[oa]""",
        "finding": r"""
            find|found|get|got|c[oa]me|from|pick(?:ed)?|cho+se|match(?:ed|es)?|read|check
            |enc[uo]e?ntr\w+|sac\w+|sal(?:e|io|ido)|lleg\w+|ocurr\w+|eleg\w+|elig\w+|leer\w*""",
        "detail": r"""
            likes|liked|retweets?|favou?rites|translat\w+|traduc\w+|repl(?:y|ying|ied)|respond\w+
            |staff\w*|ghostwrit\w+|asesor\w*|opposite|contrar[iy]\w*|opuesto""",
        "relation": r"relat\w+|relacion\w*|connect\w+|conexion|expl[ai]\w+",
        "more": r"""
            more|rest|resto|else|another|others?|next|(?:old|earli|new|lat)er|reci?ent(?:es?)?|keep
            |continue|moar|sigue|mas|otr[oa]s?|siguientes?|anterior(?:es)?""",
        "extent": "nothing|all|only|better|worse|nada|ningun[oa]?|todo|solo|mejor(?:es)?|peor",
        "label": "foretold|close|perhaps|anunciado|cercano|quiza",
        "pointing": """
            th(?:is|at|ese|ose)|its?|ones?|them|tweets?|posts?|number|(?:any|some)?things?
            |cosas?|thoughts|guy|person|here|aqui|est[aeo]s?|es[aeo]s?|tuits?|numero|un[oa]s?|algo|tipo
            |last|ultim[oa]s?|headline|news|titular|noticia""",
        "asking": r"""
            what|which|whom|why|how|que|cual(?:es)?|cuant[oa]s?|por|porque|have|hay|kind|like|can|could
            |is|are|see|t(?:ene|ien)[a-z]*|pod\w+|pued\w+|algun(?:[oa]s?)?|full|complet[oa]|ever|vez
            |and|no|or|tho|though|then|ha[ns]?|habe\w+|behind
            |(?:real|actual|exact)ly|realmente|exacto|estar\w*|mean|signific\w+|quier\w*|decir
            |going|ver|viene|pinta|re|ve|m|three|two|tres|dos""",
        "giving": r"""
            show|g(?:i|im)[vm]e|send|tell|m(?:o|ue)str\w+|ensen\w+|hit|da(?:me|s)|dime|pon(?:me|nos)
            |pas[ae]\w*|mand\w+|envi\w+|busc\w+|search|look""",
        "persons": r"i|u|me|my|we|us|our|you|your|yo|mi|nos\w*|vos|tu|te|ustedes",
    }.items()
}
_RANKS = {"first": 1, "prim": 1, "second": 2, "segund": 2, "third": 3, "tercer": 3}
_RANKED = re.compile(rf"({'|'.join(_RANKS)})(?:er)?[oa]?|(\d{{1,2}})")  # "segundo", "2"
_QUESTION_WORDS = _split_set("""
    what who whom whose which when where why how que quien quienes cuando donde como cual cuantos
    did does do has have had was were is are can could
""")
_AUXILIARIES = _split_set("do does have has had was were is are can could")
_BEFORE_ORDERS = _split_set("can could would you u we me nos podes puedes podrias")
_OPENERS = _split_set("any got hay tienes tenes")  # of questions, too
_BEING = _split_set("is was s whose by from es era fue")
_THIRD_PERSONS = _split_set("he she they")
_FILLERS = _split_set("ever also really else actually el ella alguna vez mas de verdad que ha ya")
_ABOUT = _split_set("about on of regarding in before after sobre acerca respecto de del en algo")
_OPPOSITE = re.compile(r"opposite|contrar[iy]\w{0,3}|opuesto")
_JOINS = _split_set("hm hmm uh um and but so ok wait well y e pero bueno oye hey bot che a ver")
# What is said around a question, and is no part of it.
_COURTESIES = _split_set("please pls plz porfa porfi favor bro mate tio thanks gracias hell cono")
# How follow-up questions begin: after "and", and by themselves.
_AFTER_AND = _split_set("""
    about in on before after since during with the his her sobre en antes despues desde de del
    durante con el la los las lo su sus
""")
_ABOUT_ANSWER = frozenset({Wanted.SOURCE, Wanted.REASON, Wanted.MORE})
_FOLLOW_UP = re.compile(  # "what about 2015", "anything from May"
    r"(?:(?:what|how) about|any(?:thing)? (?:from|in)|que hay de|que tal en|algo en)\b"
)
_RELATES = re.compile(r"\b(?:do with|que ver|a que viene|que pinta)\b")  # "what has it to do with"
_WHY = re.compile(r"\A(?:why|porque|how come)\b|\bpor que\b")  # "y esto por que"
_WHY_CHOSEN = re.compile(  # "why did you pick the golf one"
    r"(?:why|how come) (?:did|do|have) you .{0,20}?\b(?:pick|cho+se|show|find|give|match|send|get)"
    r"|por que (?:me |nos )?(?:eleg|elig|sac|mostr|muestr|das|diste|pus)"
)
_CONTRACTED = re.compile(r"\A(who|what|when|where|why|that|there|how)[sd]\Z")  # "wheres this from"
_YEAR = re.compile(r"(?:19|20)\d\d")
# How texts about something are asked for, with or without the bot's name between: "any tweets",
# "about the wall?".
_WANTS_TEXTS = re.compile(
    r"(?:(?:and|y) )?(?:(?:are|were) there |is there |do you (?:have|know) |have you (?:got )?|got "
    r"|what |(?:show|find|give) me |(?:search|look) for |hay |ten[eé]i?s |tienes? |d[aá]me "
    r"|mostr[aá]me |mu[eé]strame |ens[eé]ñame |b[uú]sc[aá](?:me)? )?"
    r"(?:(?:(?:any|some|an?|the|his|her|all|alg[uú]n(?:os)?|un|unos|los|sus|qu[eé]) )?(?:old )?"
    r"(?:tweets?|posts?|tuits?)|any|(?:any|some)thing(?: else)?|algo(?: m[aá]s)?)\s?,?",
    re.IGNORECASE,
)
# "about the wall", "sobre el pan".
_SUBJECT = re.compile(r"(?:about|on|regarding|sobre|acerca de|de|del)\s+(\S.*)", re.IGNORECASE)
# "everything he has on tea", "todo lo que dijo sobre el pan".
_EVERYTHING = re.compile(
    r"(?:(?:show|find|give|send|get|tell|search|look|dig|b[uú]sc|d[aá]|mu?e?str|m[aá]nd)\w{0,5} "
    r"(?:(?:me|us|nos|for|up) ){0,2})?(?:everything|anything|all|whatever|todo|algo|lo)"
    r"(?: (?:that|he|she|they|you|has|have|had|got|ever|there|is|lo|que|se|ha|hay|haya|tiene|tienes"
    r"|ten[eé]s|said|says|wrote|tweeted|posted|dijo|dicho|escribi[oó]|opin[oó]|de [eé]l)){1,5} "
    r"(?:about|on|regarding|sobre|acerca de)\s+(\w[^,;(?!.]{0,80})",
    re.IGNORECASE,
)
# Questions about the archives: "up to what year does your archive go", "whose tweets are these".
_ABOUT_ARCHIVES = re.compile(
    r"\b(?:how many|cuant[oa]s|whose|de quien(?:es)?|de que cuentas?)\b.{0,20}"
    r"\b(?:tweets|posts|texts|tuits|textos|archives?|archivos?)\b.{0,20}\b(?:you|your|these|those|have|has|there|hay"
    r"|tien\w{0,3}|tenes|est[eo]s|guardados)\b"
    r"|\b(?:what|which|que|how far|since|desde|hasta|until)\b.{0,25}"
    r"\b(?:years?|dates?|anos?|fechas?|when|cuando|back)\b.{0,25}\b(?:archives?|archivos?|database|base)\b"
    r"|\bde quien(?:es)? son\b.{0,15}\b(?:tuits|textos)\b"
)
_ASKS_FOR_TEXTS = re.compile(rf"¿?({_WANTS_TEXTS.pattern})\s({_SUBJECT.pattern})", re.IGNORECASE)
_LONGEST_SUBJECT = 6  # words: what is longer is likelier a headline that begins like this

# How instructions begin, in words without accents: politely ("could you"), and then with an order
# ("stop", "cambiad", "no publiques").
_POLITE = re.compile(
    r"(?:hey|only|just|solo|please|pls|plz|bot|ok|okay|che|oye|por favor|porfa|(?:that s )?enough"
    r"|now|but|pero|so|bueno|dale(?= que)|que|mejor|actually|seriously|no seriously|also"
    r"|(?:can|could|would|will|should) you|you (?:can|could|should|may)|pod\w+|puede[sn]?"
    r"|i(?: d)? (?:want|need|like) you to|(?:quiero|queremos|necesito) que)\s"
)
# How people write the words that orders are made of.
_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "dont": ("don", "t"), "u": ("you",), "ur": ("your",), "thats": ("that", "s"), "id": ("i", "d"),
    "q": ("que",),
}  # fmt: skip
# Between what a message says to the bot one after another: "ok enough, stop posting".
_CLAUSES = re.compile(r"[,;.!()\n](?:\s|\Z)|(?<=\?)\s|\s[–—-]\s")
_ORDERS = re.compile(
    r"(?:stop|quit|remove|drop|don t|do not|no more|no mas|no posts?|change|switch|set|speak|talk"
    r"|answer|reply|post|be|follow|add|forget|delete|erase|wipe|send|show|make|draw|use|search|write"
    r"|compose|draft|put|(?:un)?subscribe|mute|turn|start|resume|cancel|move"
    r"|shorter|longer|mas (?:cort|larg)\w+|volve\w*|vuelv\w+|empez\w+|empiez\w+|cancel\w+"
    r"|mov\w+|muev\w+|muestr\w+|pas(?:a|ad|en)|deja(?:le|d|r|n)?\b(?! que)"
    r"|silencio|callate|shut up|basta|no (?:me |nos )?[a-z]+[ea][sn]"
    r"|(?:cambi|us|agreg|busc|mand|mostr|borr|olvid|elimin|public|poste|habl|contest|dej|sac|quit"
    r"|redact|silenci|apag|activ|desactiv)(?:a|as|ad|ar|en|e|es|ame|anos|ate)"
    r"|par(?:a|en|ar) (?:de|con)"
    r"|publique\w*|(?:de)?suscrib\w+|pon(?:e|er|gan|eme|lo)?|sig(?:ue|an)|segui|escrib\w+|respond\w+"
    r"|hac\w+|haz|anad\w+|danos"
    r"|(?:in |en )?(?:english|spanish|ingles|espanol|castellano)(?: please| por favor)?\Z)\b"
)
# That something is to end: "turn it off", "dejad de".
_STOP = re.compile(
    r"stop|quit|remove|drop|no\b|don t|do not|deja(?:d|r|n|s)?\b(?! que)|dejen|par|basta|sac|apag"
    r"|desactiv|cancel|.*\b(?:any ?more|off)\b"
)
# Nothing but that it is to end: "stop", "callate una hora", "enough for today".
_ENDS_ALL = re.compile(
    r"(?:stop|para|callate|shut up|basta(?= por\b)|for(?= (?:today|now)\b))"  # "enough" is polite
    r"(?: (?:ya|now|please|por favor|for|por|una?|an?|the|el|today|tonight|hoy|hours?|horas?|day"
    r"|dia|rato|while))*"
    r"|no quiero (?:recibir|ver) mas(?: (?:mensajes|nada))?"
)
# "don't post", but not "no more posts".
_PROHIBITION = re.compile(r"(?:don t|do not|no (?!m(?:ore|as)\b)) ?")
_ASKS_WHY_NOT = re.compile(  # "why is there no post today", "por que hoy no hay"
    r"(?:why|how come|por que) (?:you )?(?:(?:is |was |were )?(?:there )?(?:no|nothing)\b"
    r"|(?:ayer|hoy) no\b|(?:did|have|do|has|haven|didn|don|hasn)(?: you)? (?:t|not)\b)"
)
_POSTS = re.compile(
    r"\b(?:post(?:s|ed|ing)?|publi(?:[cq]\w*|sh(?:ing)?)|poste\w*|digests?|resumen"
    r"|(?:every|each) (?:day|morning)|(?:daily|morning|evening) (?:thing|one|tweet)s?"
    r"|todos los dias|todas las mananas|cada (?:dia|manana)"
    r"|l[oa] de (?:la|cada) manana|(?:tuit|tweet) diario)\b"
)
# Of which days alone: "don't post on weekends".
_SOME_DAYS = re.compile(r"\b(?:weekends?|sundays?|mornings?|fines? de semana|domingos?|mananas?)\b")
_TIME = re.compile(  # "7:30", "8 am", "22h"
    r"\b(\d{1,2})(?:[:.h](\d\d)|h)? ?([ap]m)?\b", re.IGNORECASE
)
_ADDS_FEED = re.compile(r"(?:add|agreg\w+|anad\w+|follow|segui|sigue a)\b")  # a feed's name follows
# Days, with a time or left out, and no verb: "except sundays", "los fines de semana no".
_PLURAL_DAYS = (
    r"(?:on |los |el )?(?:weekends?|weekdays|\w+days|fines? de semana|finde|domingos|sabados)"
)
_ON_SOME_DAYS = re.compile(
    rf"(?:(?:except|but not|not|menos|salvo|excepto|no) {_PLURAL_DAYS}|{_PLURAL_DAYS} (?:not?|off)"
    rf"|(?:{_PLURAL_DAYS}|(?:de )?lunes a viernes)(?: only| solo)?(?: at| a las?)?"
    r" \d{1,2}(?: \d\d)?(?: [ap]m)?)(?: please| por favor)?"
)
# "follow the guardian", "agrega infobae": a paper's name in lower case.
_FOLLOWS = re.compile(
    r"(?:follow (?:the )?|add |segui a |sigue a |agreg\w+ (?:a )?)(\w{3,})"
    r"(?: (?:please|pls|porfa|por favor))?"
)
# "Set the timezone to New York".
_NAME = re.compile(r"(?<=\s)[A-ZÁÉÍÓÚÑ][\w.'’-]*(?: [A-ZÁÉÍÓÚÑ][\w.'’-]*)*")
# Whom the bot is to answer: "let ana use you", "dale permiso a ana".
_ADMITS = re.compile(
    r"(?:let|allow|permit(?:e|i|an?|ile|ele)|deja(?:le|d|r|n)?) (?:a )?(?P<let>\w+) (?:to )?"
    r"(?:use|ask|talk|write|search|change|usar|pregunt|habl|escrib|busc|cambi)"
    r"|(?:give|dale|dar?|dadle) (?:a )?(?P<given>\w+)? ?"
    r"(?:access|permission|rights|permisos?|acceso)(?: (?:to|a) (?P<to>\w+))?"
)
_REFUSES = re.compile(
    r"(?:ignore|block|ban|ignor(?:a|e|en|ad)|bloque(?:a|e|en|ad)) (?:a )?(?P<who>\w+)"
)
_NOBODY = _split_set("me us him her them it that this everyone nos le les la lo eso esto")
_NIGHTS = r"\b(?:nights?|until|during|noches?|hasta|durante)\b"
# What instructions are about, the command that does it, and the one that ends it.
_TOPICS: Sequence[tuple[re.Pattern[str], str, str]] = tuple(
    (re.compile(words), command, ending)
    for words, command, ending in (
        # "write a tweet about eggs", "redacta un hilo"
        (r"(?:write|comp|draft|escri|redac).{0,120}\b(?:tweets?|threads?|tuits?|hilos?)\b",
         "/compose", ""),
        (r"\b(?:english|ingles)\b", "/settings language en", ""),
        (r"\b(?:spanish|espanol|castellano)\b", "/settings language es", ""),
        (r"\b(?:pictures?|images?|screenshots?|imagen(?:es)?|fotos?|captura)\b", "/picture",
         "/settings picture off"),
        (r"\bunsubscribe\b|\bbaja\b|desuscri", "/unsubscribe", "/unsubscribe"),
        (r"\bsubscribe\b|\bsuscri", "/subscribe", "/unsubscribe"),
        (r"\b(?:time ?zone|zona horaria|huso|hora (?:a|de) (?!las?\b))", "/settings timezone", ""),
        # "use the archive of Ana", "busca en los tuits de Ana"
        (r"\b(?:archives?|archivos?)\b|(?:search|use|busc|us).{0,120}\b(?:tweets|tuits de)\b",
         "/corpus", ""),
        # "forget everything about us", "borra nuestros datos"
        (r"(?:forget|delete|erase|wipe|olvid|borr|elimin).{0,120}\b(?:everything|data|us|me"
         r"|tod[oa]s?|datos|nuestro|nosotros)\b", "/forget", ""),
        # "be quiet at night", "no molestes de noche"
        (rf"(?:quiet|silent|mute|molest|callate|silenci).{{0,120}}{_NIGHTS}",
         "/settings quiet 23:00-08:00", "/settings quiet 23:00-08:00"),
        # "don't post at night", but not "stop posting every night"
        (r"(?:post|publi).{0,120}(?<!every )(?<!las )\b(?:nights?|noches?|madrugada)\b", "",
         "/settings quiet 23:00-08:00"),
        # "no posts between 11pm and 7am"
        (r"\b(?:between|entre) (?:las? )?\d", "", "/settings quiet"),
        (r"(?:shorter|longer|mas cort\w+|mas larg\w+)\b", "/settings answers", ""),
        (r"\b(?:headlines?|titulares?)\b", "/settings headlines on", "/settings headlines off"),
        # "start reading again", "vuelve a leer"
        (r"(?:start|resume|volve|vuelv|empez|empiez).{0,40}\b(?:read|listen|leer?\b|escuch)",
         "/settings headlines on", "/settings headlines off"),
        # "deja de leer el grupo", "don't listen to us"
        (r"\b(?:read(?:ing)?|listen(?:ing)?|le(?:er|as?|ais)|escuch\w+)\b", "",
         "/settings headlines off"),
        # "stop replying to everything", "no contestes a todo"
        (r"\b(?:repl(?:y|ying|ies)|answer(?:ing)?|respond\w*|contest\w+)\b", "",
         "/settings listening commands"),
        (r"\b(?:settings|preferences|ajustes|configuracion|opciones)\b", "/settings", ""),
    )
)  # fmt: skip


def read_dialogue_act(text: str) -> DialogueAct:
    """Return the dialogue act of a message to the bot."""
    if read_instruction(text):
        return DialogueAct.INSTRUCTION
    if first_link(text):
        return DialogueAct.HEADLINE
    if read_question(text):
        return DialogueAct.QUESTION
    return DialogueAct.HEADLINE if is_plain_news(text) else DialogueAct.REMARK


def read_question(text: str) -> BotQuestion | None:
    """Return what a text asks the bot. None if it is no question, or one to somebody else."""
    if first_link(text):
        return None
    clauses = [clause for clause in _CLAUSES.split(text) if clause][:_MAX_CLAUSES]
    if _ABOUT_ARCHIVES.search(" ".join(folded_words(text))):
        return BotQuestion(Wanted.CORPUS)
    if (question := _read_clause(text)) or len(clauses) < 2 or is_plain_news(text):
        return question
    # Beside something else that is said, only what is plainly asked about an answer.
    asked = (_read_clause(clause) for clause in clauses if _opens_question(clause))
    return next((other for other in asked if other and other.wanted in _ABOUT_ANSWER), None)


def opens_like_question(text: str) -> bool:
    """Return whether a text begins with a question word."""
    return not _QUESTION_WORDS.isdisjoint(folded_words(text)[:1])


def _opens_question(clause: str) -> bool:
    """Return whether a part of a message asks something by itself: not "right?"."""
    words = [*dropwhile((_JOINS | _BEFORE_ORDERS).__contains__, folded_words(clause))]
    asks = bool(words) and (
        words[0] in _QUESTION_WORDS - _AUXILIARIES or words[0].startswith("expl")
    )
    return len(clause.split()) > 2 and (asks or "?" in clause)


def _read_clause(text: str) -> BotQuestion | None:
    words = _list_question_words(text)
    if not 0 < len(words) <= _MAX_LONG or any(map(is_laughter, words)):
        return None
    if subject := _read_wanted_subject(text):
        return BotQuestion(Wanted.TEXTS, subject=subject)
    marked = text.rstrip(" !.").endswith("?") or "¿" in text
    rest = [*dropwhile(_JOINS.__contains__, words)] or words  # "and" alone is kept
    # "tell me what he said", "can you show me the next one", "me pasas el link"
    order = next(dropwhile(_BEFORE_ORDERS.__contains__, rest), "")
    if _is_of_kind(order, "giving"):
        marked, rest = True, [*dropwhile(lambda word: word not in _QUESTION_WORDS, rest)] or rest
    if _asks_what_was_said(rest, marked=marked):
        return BotQuestion(Wanted.ARCHIVE)
    wanted = _find_detail(rest, marked=marked)
    if wanted or len(words) > _MAX_WORDS:
        return BotQuestion(wanted, _read_rank(words)) if wanted else None
    return _read_short_question(words, rest, marked=marked)


def _list_question_words(text: str) -> list[str]:
    """Return the words of a question as they are spelled, without courtesies and laughter at its
    end."""
    words = [
        _CONTRACTED.sub(r"\1", part)
        for word in folded_words(text)
        for part in _SPELLINGS.get(word, (word,))
    ]
    words = [word for word in words if word not in _COURTESIES]
    while len(words) > _MAX_UNMARKED and is_laughter(words[-1]):
        words.pop()
    return words


def _read_short_question(
    words: Sequence[str], rest: Sequence[str], *, marked: bool
) -> BotQuestion | None:
    """Return what a question of few words asks. `rest` lacks the words that join it to others."""
    subjects = sum(map(_names_subject, rest))
    if subjects == 1 and (marked or rest[0] in _QUESTION_WORDS) and _wants_fact(rest):
        subjects = 0  # a word that is not known: "did a human write this?"
    if subjects:
        follows_up = _is_follow_up(rest, joined=len(rest) < len(words), marked=marked)
        return BotQuestion(Wanted.ARCHIVE) if follows_up else None
    label = next((word for word in rest if _is_of_kind(word, "label")), "")
    if label and rest[0] in {"what", "que"}:
        return BotQuestion(Wanted.MEANING, subject=label)
    wanted = _find_wanted(rest, marked=marked)
    return BotQuestion(wanted, _read_rank(words)) if wanted else None


def names_another_subject(text: str) -> bool:
    """Return whether a follow-up leaves the subject for another: "and about trains?"."""
    words = [*dropwhile(_JOINS.__contains__, folded_words(text))]
    return words[:1] in (["about"], ["sobre"]) and any(map(_names_subject, words))


def find_wanted_subject(before: str, after: str) -> str:
    """Return the subject that texts are asked for about, or "" if none is named.

    `before` and `after` are the words around the bot's name: "any tweets @bot about wind?".
    """
    about = _SUBJECT.fullmatch(after) if _WANTS_TEXTS.fullmatch(before.lstrip("¿ ")) else None
    subject = about[1].rstrip("?.! ") if about else ""
    return subject if any(map(_names_subject, folded_words(subject))) else ""


def _read_wanted_subject(text: str) -> str:
    """Return the subject that texts are asked for about, or "".

    What begins in upper case without a question mark may be a headline.
    """
    match = _ASKS_FOR_TEXTS.fullmatch(text) if text[:1].islower() or text.endswith("?") else None
    subject = find_wanted_subject(match[1], match[2]) if match else ""
    if not subject and text[:1].islower() and (everything := _EVERYTHING.match(text)):
        subject = everything[1].strip()
    return subject if len(subject.split()) <= _LONGEST_SUBJECT else ""


def _names_subject(word: str) -> bool:
    """Return whether a word names a subject or a time, rather than to ask or to point."""
    if word in FUNCTION_WORDS or word in _QUESTION_WORDS or _RANKED.fullmatch(word):
        return False
    return not any(kind.fullmatch(word) for kind in _KINDS.values())


def _asks_what_was_said(words: Sequence[str], *, marked: bool) -> bool:
    """Return whether a question is about what the account said: "what did he say about wind",
    "¿alguna vez habló del clima?". With a name in place of a pronoun it may be a headline."""
    verb = next((at for at, word in enumerate(words[:6]) if _is_of_kind(word, "speaking")), None)
    if verb is None:
        return False
    before, after = {*words[:verb]}, words[verb + 1 :]
    # "Mention" and "predict" need no "about".
    about = not _ABOUT.isdisjoint(after[:2]) or words[verb].startswith(("men", "pre"))
    about = about or any(_OPPOSITE.fullmatch(word) for word in after[:3])
    if words[0] in _ABOUT and words[verb - 1] == "que":  # "de China que decia"
        return True
    if before & _THIRD_PERSONS:
        others = before - _THIRD_PERSONS - _QUESTION_WORDS - _FILLERS
        return not others and (about or (not after and words[0] == "what" and "else" not in before))
    if before - _FILLERS - {"como", "cuando", "donde"}:
        return False
    return about and (marked or bool(before)) if after else before == {"que"}


def _find_detail(words: Sequence[str], *, marked: bool) -> Wanted | None:
    """Return what a question wants that points at an answer and names a detail of it, whatever
    else it says: "how many likes did that get", "is this real or did you make it up"."""
    kinds = _list_kinds(words)
    explains = any(word.startswith("expl") for word in words[:2])
    asks = bool(words) and (marked or explains or words[0] in _QUESTION_WORDS)
    points = "pointing" in kinds or any(map(_RANKED.fullmatch, words)) or "he" in words
    points = points or words[:1] in (["cuantos"], ["cuantas"])  # Spanish leaves out "it"
    said = " ".join(words)
    if _WHY_CHOSEN.match(said) or (explains and _RELATES.search(said)):
        return Wanted.REASON
    if not points:
        return None
    doubts = "truth" in kinds and not {"or", "o"}.isdisjoint(words[1:-1])
    opens = words[0] in _QUESTION_WORDS | _BEING or _is_of_kind(words[0], "pointing")
    if doubts and opens:
        return Wanted.SOURCE
    return Wanted.SOURCE if asks and "detail" in kinds else None


def _wants_fact(words: Sequence[str]) -> bool:
    """Return whether a short question is about what was shown, whatever else it says."""
    kinds = _list_kinds(words)
    speaks = "speaking" in kinds and ("who" in kinds or not _THIRD_PERSONS.isdisjoint(words))
    shown = "source" in kinds or ("pointing" in kinds and (speaks or "truth" in kinds))
    return len(words) <= _MAX_FACT and (shown or "relation" in kinds)


def _is_follow_up(words: Sequence[str], *, joined: bool, marked: bool) -> bool:
    """Return whether a question follows up on what was said before: "and in 2012?".

    `joined` says that it begins with a word like "and", which `words` lack.
    """
    if len(words) > _MAX_FOLLOW_UP or any(_is_of_kind(word, "persons") for word in words):
        return False
    if not marked and not _YEAR.fullmatch(words[-1]):
        return False
    if _FOLLOW_UP.match(" ".join(words)):
        return True
    is_bare_subject = len(words) <= _MAX_UNMARKED and _names_subject(words[0])
    return joined and (words[0] in _AFTER_AND or is_bare_subject)


def _find_wanted(words: Sequence[str], *, marked: bool) -> Wanted | None:
    """Return what a question without a subject wants to know."""
    kinds = _list_kinds(words)
    asks = bool(_QUESTION_WORDS & {*words[:2]}) or _is_of_kind(words[0], "source")
    facts = kinds & {"who", "when", "truth"} and asks and len(words) <= _MAX_UNMARKED_FACT
    marked = marked or bool(facts) or words[0] in _OPENERS
    if not (marked or asks or len(words) <= _MAX_UNMARKED):
        return None
    how = words[0] in {"how", "como"}
    if how and "truth" in kinds:  # which is amazed
        return None
    why = _WHY.search(" ".join(words)) is not None
    if why or (how and "finding" in kinds) or "relation" in kinds:
        return Wanted.REASON if "persons" not in kinds or "finding" in kinds else None
    if "source" in kinds or _asks_for_source(words, kinds, marked=marked):
        return Wanted.MORE if kinds & {"more", "extent"} and "truth" not in kinds else Wanted.SOURCE
    if "more" in kinds or ("extent" in kinds and marked):
        return Wanted.MORE
    opinion = kinds >= {"persons", "speaking"} and words[0] in {"what", "que"}
    points = "pointing" in kinds and "who" not in kinds
    return Wanted.QUOTED if marked and (points or opinion) else None


def _asks_for_source(words: Sequence[str], kinds: set[str], *, marked: bool) -> bool:
    """Return whether a question asks who wrote what was shown, when or where, or if it is real."""
    if "who" in kinds and not (kinds & {"speaking", "truth"} or _BEING & {*words}):
        return False
    if words[0] in _QUESTION_WORDS and "speaking" in kinds and "persons" not in kinds:
        return True
    place = kinds & {"who", "when"} and (
        "persons" not in kinds or kinds & {"giving"} or "have" in words
    )
    about = place or kinds & {"truth", "finding"} or any(map(_RANKED.fullmatch, words))
    return marked and bool(about)


def _list_kinds(words: Sequence[str]) -> set[str]:
    """Return the kinds of words that a question has."""
    relates = {"relation"} if _RELATES.search(" ".join(words)) else set()
    return relates | {kind for kind in _KINDS for word in words if _is_of_kind(word, kind)}


def _is_of_kind(word: str, kind: str) -> bool:
    return _KINDS[kind].fullmatch(word) is not None


def _read_rank(words: Sequence[str]) -> int | None:
    """Return the number of the text that a question names, or None."""
    match = next(filter(None, map(_RANKED.fullmatch, words)), None)
    return match and (int(match[2]) if match[2] else _RANKS[match[1]])


def read_instruction(text: str) -> str:
    """Return the command line that does what a text tells the bot to do, or ""."""
    if len(folded_words(text)) > 2 * _MAX_WORDS:  # a web address counts as many words
        return ""
    if _ENDS_ALL.fullmatch(_strip_politeness(" ".join(folded_words(text)))):
        return "/unsubscribe"
    first, *others = filter(None, _CLAUSES.split(text)) if text.strip(" .,;!()\n") else [""]
    pieces = (text, first) if not others or is_plain_news(text) else (text, first, *others)
    return next(filter(None, map(_read_order, pieces)), "")


def _strip_politeness(order: str) -> str:
    while polite := _POLITE.match(order):
        order = order[polite.end() :]
    return order


def _read_order(text: str) -> str:
    """Return the command line for an order that a text begins with, or ""."""
    order = " ".join(part for word in folded_words(text) for part in _SPELLINGS.get(word, (word,)))
    if _ASKS_WHY_NOT.match(order):
        return "/preview" if _POSTS.search(order) else ""
    order = _strip_politeness(order)
    if _ON_SOME_DAYS.fullmatch(order):
        return "/subscribe"
    return _read_person(order) or (_find_command(order, text) if _ORDERS.match(order) else "")


def _find_command(order: str, text: str) -> str:
    """Return the command line for what an order is about, or ""."""
    ends = _STOP.match(order) is not None
    topics = (
        ending if ends else command for topic, command, ending in _TOPICS if topic.search(order)
    )
    command = next(topics, "")
    names = _NAME.findall(text)
    if command.endswith("timezone"):
        return " ".join([command, *names[-1:]])  # zones are written with a capital
    if command:
        return command
    if _POSTS.search(order):
        return _read_posting(order, text)
    adds = _ADDS_FEED.match(order) and (first_link(text) or len(order.split()) <= _LONGEST_SUBJECT)
    sources = [*find_links(text)] or names
    feeds = re.search(r"\b(?:feeds?|fuentes)\b", order)
    if feeds and _STOP.match(order):
        return "/feeds remove"
    if not sources and (named := _FOLLOWS.fullmatch(order)):
        sources = [named[1]]
    return (
        f"/feeds add {sources[-1]}" if adds and sources else "/feeds add" if adds and feeds else ""
    )


def _read_person(order: str) -> str:
    """Return the command that lets somebody use the bot, or refuses to, or ""."""
    for verb, pattern in (("allow", _ADMITS), ("refuse", _REFUSES)):
        match = pattern.match(order)
        names = [name for name in match.groups() if name] if match else []
        if names and names[-1] not in _NOBODY | FUNCTION_WORDS:
            return f"/access {verb} {names[-1]}"
    return ""


def _read_posting(order: str, text: str) -> str:
    """Return the command that changes the time of daily posts, or ends them."""
    time = _TIME.search(write_times(text))
    some_days = _SOME_DAYS.search(order) is not None
    if _STOP.match(order):
        return "/subscribe" if _PROHIBITION.match(order) and some_days else "/unsubscribe"
    if not time:
        return "/subscribe"
    return f"/subscribe daily {':'.join(filter(None, time.group(1, 2)))}{time[3] or ''}"
