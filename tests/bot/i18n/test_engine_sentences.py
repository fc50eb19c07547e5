"""What the engine says reaches a reader in his language, and is what the engine says."""

import ast
import re
from functools import cache
from pathlib import Path

import httpx
import pytest

from bot.i18n.engine_sentences import TEMPLATES, error_in, in_language
from bot.i18n.words import words_for
from engine.errors import CorpusNotFound, FetchStatus, UsageError
from engine.fetch.faults import require_usable

ROOT = Path(__file__).resolve().parents[3]
SPANISH = words_for("es")
PLACEHOLDER = re.compile(r"{\w+}")
# Put together from parts; the test below meets the real ones.
COMPOSED = [template for template in TEMPLATES if template.endswith("({status}).")]


@cache
def said_by_the_engine() -> set[str]:
    """All texts in the engine's sources, and the application's, with {} for each value."""
    paths = [*(ROOT / "engine").rglob("*.py"), *(ROOT / "db").glob("*.py")]
    paths.append(ROOT / "bot/queries/find.py")
    for folder in ("card", "commands", "jobs", "slack", "telegram", "web"):
        paths += (ROOT / "bot" / folder).glob("*.py")
    found = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                found.add("".join(_part(value) for value in node.values))
    return found


def _part(value: ast.expr) -> str:
    return str(value.value) if isinstance(value, ast.Constant) else "{}"


@pytest.mark.parametrize("template", [t for t in TEMPLATES if t not in COMPOSED])
def test_every_template_is_a_sentence_of_the_sources(template: str) -> None:
    assert PLACEHOLDER.sub("{}", template) in said_by_the_engine()


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (404, "news.example no tiene esa página (404). Mejor pegar el titular."),
        (403, "news.example no muestra esa página (403). Mejor pegar el titular."),
        (429, "news.example pide ir más despacio (429). Se puede probar más tarde."),
        (500, "news.example falló (500). Se puede probar más tarde."),
    ],
)
def test_what_a_page_answers(status: int, expected: str) -> None:
    with pytest.raises(FetchStatus) as caught:
        require_usable(httpx.Response(status), "news.example")
    assert error_in(SPANISH, caught.value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Not judged: no language model is set up.",
            "Sin evaluar: no hay un modelo de lenguaje configurado.",
        ),
        (
            "Corpus my.corpus is empty. There is no word in this to look for.",
            "El corpus my.corpus está vacío. No hay ninguna palabra para buscar.",
        ),
        (
            "Not judged: The model answered nothing within 2.5 s. Raise llm.read_timeout.",
            "Sin evaluar: El modelo no respondió nada en 2.5 s. Raise llm.read_timeout.",
        ),
        ("The model judged 3 of 150 candidates.", "El modelo evaluó 3 de 150 candidatos."),
        ("There is no corpus 'x'. See /corpus.", "No existe el corpus 'x'. Se elige con /corpus."),
        ("There is no news.example.", "No existe news.example."),
        (
            "Slack does not say who is an admin. Try again later.",
            "Slack no dice quién administra. Se puede probar más tarde.",
        ),
        (
            "x.example cannot prove that it is x.example.",
            "x.example no puede probar que es x.example.",
        ),
        ("x.example cannot prove that it is y.example.",) * 2,
        ("Something new. Try again later.", "Something new. Se puede probar más tarde."),
        ("", ""),
    ],
)
def test_sentences_are_translated_one_by_one(text: str, expected: str) -> None:
    assert in_language(text, SPANISH) == expected


def test_english_is_left_as_it_is() -> None:
    text = "There is no corpus {name}. {Braces} stay."
    assert in_language(text, words_for("en")) == text


def test_braces_in_a_value_stay() -> None:
    error = CorpusNotFound("There is no corpus '{0}{x}'.", fix="See /corpus.")
    assert error_in(SPANISH, error) == "No existe el corpus '{0}{x}'. Se elige con /corpus."


def test_an_error_that_is_translated_already_stays() -> None:
    assert error_in(SPANISH, UsageError("No existe el ajuste x.")) == "No existe el ajuste x."


def test_a_share_that_is_used_is_said_with_what_would_change_it() -> None:
    said = (
        "Not judged: The web page's share of the daily model budget is spent. It starts anew at"
        " 00:00 UTC on 2024-06-02; or raise llm.web_share."
    )
    assert in_language(said, SPANISH) == (
        "Sin evaluar: La parte de la página web en el presupuesto diario del modelo está gastada."
        " Vuelve a empezar a las 00:00 UTC del 2024-06-02; o sube llm.web_share."
    )
