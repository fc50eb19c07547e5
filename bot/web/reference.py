"""The page that describes the API to people: the OpenAPI document in tables, with examples."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from bot.i18n.words import DEFAULT, Words, marked, words_for
from bot.web.examples import choose_examples
from bot.web.failures import STEERING
from bot.web.rendering import render_template
from bot.web.shared_state import SharedOf, SharedState, limit_requests
from bot.web.visitor import VisitorOf, list_choices
from db.search.shown import DocumentLookup

reference = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])

_ANSWERED = "200"
_ANY_CORPUS = "NAME"
_ADDRESS = re.compile(r"https?://\S+|[@#]\w+")
_WORD = re.compile(r"[^\W\d_]+")
_KINDS = {
    "string": marked("text"),
    "array": marked("list"),
    "boolean": marked("true or false"),
    "integer": marked("whole number"),
    "number": marked("number"),
    "object": marked("object"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldView:
    """A parameter of an operation, or a field of its answer."""

    name: str
    values: str
    about: str
    required: bool = False
    choices: Sequence[str] = ()
    usual: str = ""  # what it is if left out


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationView:
    """What can be asked at one path, and an example of it: an address, for POST with a body."""

    method: str
    path: str
    title: str
    about: str
    asks: bool  # rather than operates the server
    steers: bool
    parameters: Sequence[FieldView]
    fields: Sequence[FieldView]
    address: str
    body: str


@reference.get("/docs")
async def _show_reference(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    document, examples = request.app.openapi(), await _choose_examples(shared, visitor.words)
    operations = describe_operations(document, examples, visitor.words)
    return render_template(
        request,
        "docs.html",
        operations=list(operations),
        problem=_read_example_problem(document),
        keys_needed=shared.keys.asks_for_keys(),
        tools=shared.settings.web.mcp,
    )


async def _choose_examples(shared: SharedState, words: Words) -> Mapping[str, str]:
    """Return values for which there are answers, as far as there are texts: by the names of
    parameters, those of `q` by the path. Raises StorageError."""
    if not await shared.app.corpora.list():
        return {}
    corpus = await shared.app.corpus((await list_choices(shared, ""))[1])
    liked = await DocumentLookup(shared.app.database).list_most_liked(corpus, limit=1)
    if not liked:
        return {"corpus": corpus.name}
    found, headlines = liked[0].candidate, await choose_examples(shared, corpus, words)
    word = max(_WORD.findall(_ADDRESS.sub(" ", found.text)), key=len, default="")
    before = f" before:{found.created_at.year + 1}" if found.created_at else ""
    return {
        "corpus": corpus.name,
        "id": found.external_id,
        "/api/search": word,
        "/api/find": word and word + before,
        "/api/ask": word and f"{word}?",
        "/api/prophecy": headlines[0].headline if headlines else "",
    }


def list_prose(document: Mapping[str, Any]) -> Iterator[str]:
    """Return what the page of an OpenAPI document translates."""
    for each in describe_operations(document, {}, words_for(DEFAULT)):
        abouts = (field.about for field in (*each.parameters, *each.fields))
        yield from filter(None, (each.title, each.about, *abouts))


def describe_operations(
    document: Mapping[str, Any], examples: Mapping[str, str], words: Words
) -> Iterator[OperationView]:
    """Return the operations of an OpenAPI document, with `examples`; where one is missing, that of
    the document serves."""
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            given = operation.get("parameters", ())
            in_address = {
                "properties": {each["name"]: each["schema"] for each in given},
                "required": [each["name"] for each in given if each["required"]],
            }
            body = _resolve(_read_content(operation.get("requestBody", {})), schemas)
            answer = _resolve(_read_content(operation["responses"][_ANSWERED]), schemas)
            yield OperationView(
                method=method.upper(),
                path=path,
                title=_translate(operation["summary"], words),
                about=_translate(operation.get("description", ""), words),
                asks="ask" in operation["tags"],
                steers=path.startswith(STEERING),
                parameters=sorted(
                    [
                        field
                        for schema in (in_address, body)
                        for field in _describe_fields(schema, schemas, words)
                    ],
                    key=lambda field: not field.required,
                ),
                fields=list(_describe_fields(answer, schemas, words)),
                address=_build_address(path, given, examples),
                body=_build_body(body, examples.get("corpus", _ANY_CORPUS)),
            )


def _translate(text: str, words: Words) -> str:
    one_line = " ".join(text.split())
    return words.say(one_line)


def _read_content(message: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = (
        message.get("content", {}).get("application/json", {}).get("schema", {})
    )
    return schema


def _resolve(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema that is meant: the first that is not null, where there are several."""
    for each in schema.get("anyOf", ()):
        if each.get("type") != "null":
            return _resolve(each, schemas)
    name = schema.get("$ref", "").rpartition("/")[2]
    return schemas[name] if name else schema


def _describe_fields(
    schema: Mapping[str, Any], schemas: Mapping[str, Any], words: Words
) -> Iterator[FieldView]:
    needed = schema.get("required", ())
    for name, each in schema.get("properties", {}).items():
        allowed, usual = _resolve(each, schemas), each.get("default")
        yield FieldView(
            name=name,
            values=_say_values(allowed, words),
            about=_translate(each.get("description", ""), words),
            required=name in needed,
            choices=[str(choice) for choice in allowed.get("enum", ())],
            usual="" if usual in (None, []) else json.dumps(usual).strip('"'),
        )


def _say_values(schema: Mapping[str, Any], words: Words) -> str:
    """Return which values a schema allows, in few words; "" where it lists them."""
    if "enum" in schema:
        return ""
    if {"minimum", "maximum"} <= schema.keys():
        return f"{schema['minimum']:g}–{schema['maximum']:g}"
    return words.say(_KINDS[schema.get("type", "string")])


def _build_address(
    path: str, given: Sequence[Mapping[str, Any]], examples: Mapping[str, str]
) -> str:
    """Return a path with an example of each parameter that it needs."""
    own = {"corpus": _ANY_CORPUS, **examples, "q": examples.get(path, "")}
    values = {
        each["name"]: own.get(each["name"])
        or str((each["schema"].get("examples") or [each["name"].upper()])[0])
        for each in given
        if each["required"] or each["name"] == "corpus"
    }
    inside = {each["name"] for each in given if each["in"] == "path"}
    query = urlencode({name: value for name, value in values.items() if name not in inside})
    written = path.format_map({name: quote(value, safe="") for name, value in values.items()})
    return written + (f"?{query}" if query else "")


def _build_body(schema: Mapping[str, Any], corpus: str) -> str:
    """Return an example of what is sent as JSON, "" for nothing."""
    if not schema:
        return ""
    properties = schema["properties"]
    needed = {name: properties[name]["examples"][0] for name in schema.get("required", ())}
    return json.dumps(needed | ({"corpora": [corpus]} if "corpora" in properties else {}))


def _read_example_problem(document: Mapping[str, Any]) -> str:
    """Return a problem as the document has one, in lines."""
    content = document["paths"]["/api/search"]["get"]["responses"]["404"]["content"]
    return json.dumps(next(iter(content.values()))["example"], indent=2)
