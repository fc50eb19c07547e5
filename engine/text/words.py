"""The words of a text without case and accents, for judging texts without a database."""

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


# Of greetings, thanks and wishes, in English and Spanish.
_COURTESIES = frozenset(
    _WORD.findall(
        """
        afternoon amazing anniversary awesome best birthday bless bye cheers christmas congrats
        congratulations day dear enjoy evening everybody everyone eve fantastic folks friend
        friends fun goodbye good great greetings guys happy haha hello here hey hi holiday holidays
        hugs kind lol lots love luck lucky lunch merry morning much new nice night ok okay please
        thank thanks thanx thx tonight today tomorrow true very wait weekend welcome wishes wish
        wonderful wow xmas yeah year yes yet
        abrazo abrazos adios amigo amigos amiga amigas ano anos besos bien bienvenida bienvenidas
        bienvenido bienvenidos bueno buena buenas buenos chau dia dias excelente feliz felices
        felicidades felicitaciones finde genial gracias gran hola hoy igualmente jaja jajaja lindo
        linda manana muchas muchos mucho navidad noche noches pascuas querida querido saludo
        saludos semana siempre suerte tarde tardes todas todos
        """
    )
)
_NAMES_AND_LINKS = re.compile(
    r"(?:https?://|www\.|@)\S+|(?<![\w.-])(?:[\w-]++\.)++[a-z]{2,10}/\S*", re.IGNORECASE
)


def is_generic(text: str) -> bool:
    """Tell a text that could stand anywhere: a greeting, thanks, or nothing but a link."""
    said = folded_words(_NAMES_AND_LINKS.sub(" ", text))
    return all(word in FUNCTION_WORDS or word in _COURTESIES for word in said)


def folded_words(text: str) -> list[str]:
    """Return all words in their order, without case and accents; numbers stay whole."""
    return _WORD.findall(_ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold())))
