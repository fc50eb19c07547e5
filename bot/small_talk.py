"""What tells small talk from news, in English and Spanish."""

import re

# Who speaks of himself, to somebody, or about now. News hardly does, outside of quotations.
_TALK = """
    i i'm i'd i'll i've me my mine myself we we're we'll we've us our ours you you're you'll your
    yours u ur im hi hello hey thanks thank please pls sorry ok okay lol haha omg btw yes yeah yep
    nope nah let's lets anyone anybody somebody someone guys everyone tomorrow yesterday tonight
    gonna wanna gotta well wow cool congrats honestly brb mum mom luck yay oh hmm
    yo mí conmigo vos che hola perdona disculpa dale jaja jajaja porfa porfi
    felicitaciones chicos chicas quiero creo tengo voy estoy soy sé puedo llego espero prefiero
    pienso podés querés sabés tenés estás querías vamos estamos tenemos podemos hacemos nosotros
    ustedes alguien anoche ayer acá recién obvio posta avisen avisame pasame decime mandame
    mandó pasó vieron bueno uh ah ay
"""
TALK = frozenset(_TALK.split())

# Fits both; in a sentence that names nobody and counts nothing it is talk.
_SOFT = """
    here there again just new really pretty very so then wait stop been done that this it's it he
    she they them same today don't can't won't doesn't didn't isn't later maybe sure nice great good
    never nobody could would should does did has are is was who what where why how mind remember
    forget know think hope idea one
    me te nos gracias perdón mi tu tus le les muy hoy mañana eso esto esa ese así entonces
    también siempre nunca qué quién dónde cuándo cómo ya ni era está están hay había bien mal igual
    verdad donde
    cuando nadie nada todo todos ir hacer tarde después pronto listo linda lindo otra vez
    final lunes martes miércoles jueves viernes sábado domingo
"""
SOFT = frozenset(_SOFT.split())

# "terminé", "salí", "pensaba", "tendríamos", "viste": a Spanish verb that says "I", "we" or "you".
SPOKEN_VERB = re.compile(r"\w{2,}(?:é|í|aba|amos|emos|imos|aste|iste|ame|eme|alo|elo|ela|anos)")

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
WEEKDAYS = frozenset(_WEEKDAYS.split())
