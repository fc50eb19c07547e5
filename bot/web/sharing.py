"""What one shares: pictures of prophecies and of texts, and the page as an app of a phone that
headlines are shared with."""

import asyncio
from dataclasses import replace
from http import HTTPStatus
from xml.etree.ElementTree import Element, SubElement, tostring

from fastapi import APIRouter, Depends, Request
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse, Response

from bot.card import Card, Shape, draw_apart, require_pictures
from bot.commands.headline_detection import is_remark
from bot.replies.dates import say_age
from bot.replies.picture import card_of, card_of_text, picture_answer
from bot.reply import HitView
from bot.web.api import DocumentOf
from bot.web.examples import list_foretold_by
from bot.web.failures import Refusal, nothing_here
from bot.web.rendering import ABOUT, COLOURS, STATIC, has_picture
from bot.web.schemas import LONGEST_TEXT
from bot.web.shared_state import SharedOf, SharedState, limit_answers, limit_requests
from bot.web.visitor import (
    VisitorOf,
    build_answered_key,
    join_prophecy,
    own_address,
    read_prophecy_form,
)
from engine.chat import Answer
from engine.messages import Message
from engine.page.article import first_link
from engine.prophecy.headline import read_headline
from engine.text.address import address_candidate

_PICTURE_SECONDS = 3600
_ICON_SECONDS = 86_400
_MAX_FORETOLD = 300  # headlines of one text, among which that of its picture is looked for
_OPENSEARCH = "http://a9.com/-/spec/opensearch/1.1/"

sharing = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])


@sharing.get("/picture.png")
async def _show_picture(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    """Show the first hit of an answer. May ask a model, unless that was answered lately."""
    require_pictures()
    form = read_prophecy_form(request.query_params)
    if not shared.kept.holds(build_answered_key(form)):
        await limit_answers(request, shared)
    async with join_prophecy(shared, form) as answering:  # the judgment of a repeated one is cached
        prophecy = await asyncio.shield(answering)
    if not has_picture(prophecy):
        raise Refusal(HTTPStatus.NOT_FOUND, Message("Nothing foretold this."))
    answer = Answer(prophecy=prophecy, asked_at=shared.now(), first=0, last=1)
    card = card_of(
        picture_answer(answer),
        visitor.words,
        avatar=await shared.app.corpora.avatar(prophecy.corpus),
        footer=shared.settings.pictures.footer,
        shape=_read_shape(request),
    )
    return await _render_card(shared, card)


@sharing.get("/card/{corpus}/{id:path}.png")
async def _show_card(
    request: Request, shared: SharedOf, visitor: VisitorOf, address: DocumentOf
) -> Response:
    """Show a text, with a `headline` that it foretold as far as everybody may know.

    Nobody can have a headline of their own put beside a text, and no model is asked.
    """
    corpus, document = address
    found, words = address_candidate(document.candidate, corpus), visitor.words
    headline = request.query_params.get("headline", "").strip()
    view = HitView.of(found, words, rank=1, text=found.text)
    avatar = await shared.app.corpora.avatar(corpus.name)
    footer = shared.settings.pictures.footer
    shape = _read_shape(request)
    card = card_of_text(view, corpus.name, words, avatar=avatar, footer=footer, shape=shape)
    if headline:
        foretold = await list_foretold_by(shared, corpus, found.external_id, limit=_MAX_FORETOLD)
        until = foretold.get(headline)
        if until is None:
            raise nothing_here()
        card = replace(
            card,
            headline=headline,
            headline_date=words.date(until),
            lead_time_text=say_age(found.created_at, until, words),
        )
    return await _render_card(shared, card)


def _read_shape(request: Request) -> Shape:
    return Shape.CHAT if request.query_params.get("shape") == Shape.CHAT else Shape.LINK


async def _render_card(shared: SharedState, card: Card) -> Response:
    picture = await draw_apart(shared.app.isolation, card)
    keep = {"Cache-Control": f"public, max-age={_PICTURE_SECONDS}", "Vary": "Accept-Language"}
    return Response(picture, media_type="image/png", headers=keep)


@sharing.get("/share")
async def _take_share(request: Request, visitor: VisitorOf) -> Response:
    """Take what a phone shares with the page: words, and a link wherever apps put it.

    The words are asked if they tell anything: many pages show themselves to no program.
    """
    given = request.query_params
    title, text, url = (given.get(name, "").strip() for name in ("title", "text", "url"))
    link = first_link(url) or first_link(text) or url
    candidates = [words for words in (read_headline(text).text, title) if words]
    words = next((words for words in candidates if not is_remark(words)), "".join(candidates[:1]))
    headline = f"{words[: max(LONGEST_TEXT - len(link) - 1, 0)]} {link}".strip()[:LONGEST_TEXT]
    if not headline:
        return RedirectResponse(visitor.link("/"), HTTPStatus.SEE_OTHER)
    return RedirectResponse(visitor.link("/prophecy", headline=headline), HTTPStatus.SEE_OTHER)


@sharing.get("/manifest.webmanifest")
async def _show_manifest(visitor: VisitorOf) -> Response:
    """Describe the page to phones that install it."""
    manifest = {
        "id": "/",
        "name": "Presagio",
        "short_name": "Presagio",
        "description": visitor.words.say(ABOUT),
        "lang": visitor.words.language,
        "start_url": visitor.link("/"),
        "scope": "/",
        "display": "minimal-ui",
        "theme_color": COLOURS["light"],
        "background_color": COLOURS["light"],
        "icons": [
            {"src": "/static/icon.svg", "type": "image/svg+xml", "sizes": "any"},
            *(
                {
                    "src": f"/static/icon-{side}.png",
                    "type": "image/png",
                    "sizes": f"{side}x{side}",
                    "purpose": purpose,
                }
                for side in (192, 512)
                for purpose in ("any", "maskable")
            ),
        ],
        "share_target": {
            "action": visitor.link("/share"),
            "method": "GET",
            "enctype": "application/x-www-form-urlencoded",
            "params": {"title": "title", "text": "text", "url": "url"},
        },
    }
    return JSONResponse(
        manifest, headers={"Vary": "Accept-Language"}, media_type="application/manifest+json"
    )


@sharing.get("/opensearch.xml")
async def _show_description(request: Request, visitor: VisitorOf) -> Response:
    """Describe the page as a search engine, which browsers offer beside their own."""
    origin, address = own_address(request), visitor.link("/prophecy", headline="HEADLINE")
    root = Element("OpenSearchDescription", {"xmlns": _OPENSEARCH})
    for name, text in (
        ("ShortName", "Presagio"),
        ("Description", visitor.words.say(ABOUT)),
        ("Language", visitor.words.language),
        ("InputEncoding", "UTF-8"),
    ):
        SubElement(root, name).text = text
    icon = SubElement(root, "Image", {"type": "image/svg+xml", "width": "32", "height": "32"})
    icon.text = f"{origin}/static/icon.svg"
    template = origin + address.replace("HEADLINE", "{searchTerms}")
    SubElement(root, "Url", {"type": "text/html", "method": "get", "template": template})
    described: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return Response(
        described,
        headers={"Vary": "Accept-Language"},
        media_type="application/opensearchdescription+xml",
    )


@sharing.get("/favicon.ico")
async def _show_favicon() -> Response:
    """Show the icon to those who ask for it without reading a page."""
    return _send_icon("favicon.ico")


@sharing.get("/apple-touch-icon.png")
@sharing.get("/apple-touch-icon-precomposed.png")
async def _show_touch_icon() -> Response:
    return _send_icon("touch.png")


def _send_icon(name: str) -> Response:
    return FileResponse(
        STATIC / name, headers={"Cache-Control": f"public, max-age={_ICON_SECONDS}"}
    )
