"""The page that explains a failure: what failed, and where one may go on."""

import re
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import TypeVar

from fastapi import Request
from fastapi.responses import Response

from bot.i18n.words import Words
from bot.web.browsing import describe_archives
from bot.web.examples import choose_examples
from bot.web.failures import Refusal, nothing_here
from bot.web.listing import MonthView, list_years
from bot.web.rendering import render_template
from bot.web.shared_state import SharedState, limit_requests
from bot.web.visitor import ProphecyForm, find_visitor, list_choices, recover_prophecy_form
from engine.errors import PresagioError
from engine.values import Corpus

_LONGEST_DATE = 40  # characters of a wrong one that are shown
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)", re.ASCII)
_IN_ARCHIVE = re.compile(r"/(?:corpora|documents)/(?P<name>[^/]+)/")
_MONTH_PATH = re.compile(r"/corpora/[^/]+/(?P<year>\d{4})(?:/(?P<month>\d{1,2}))?/?\Z", re.ASCII)

_Read = TypeVar("_Read")


async def render_failure(request: Request, failure: Refusal) -> Response:
    """Return the page that explains a failure; where nothing is found, with what there is."""
    shared: SharedState = request.app.state.shared
    words, path = find_visitor(request).words, request.url.path
    form = recover_prophecy_form(request, failure.status)
    none: tuple[list[Corpus], str] = ([], "")
    corpora, selected = await _or_else(none, _list_corpora(request, failure.status, form))
    wrong_date = ""
    if form and not form.date:
        wrong_date = request.query_params.get("date", "").strip()[:_LONGEST_DATE]
    inside, by_name = _IN_ARCHIVE.match(path), {corpus.name: corpus for corpus in corpora}
    archive, chosen = by_name.get(inside["name"]) if inside else None, by_name.get(selected)
    years = await _or_else([], list_years(shared, archive, words)) if archive else ()
    months = [month for year in years for month in year.months if month.posts]
    message, fix = _explain_failure(path, failure, archive, months, words)
    page = render_template(
        request,
        "failure.html",
        status=failure.status.value,
        message=message,
        fix=fix,
        rows=await _or_else((), describe_archives(shared, corpora, words))
        if failure.unknown and not form
        else (),
        archive=archive,
        years=years,
        month_names=words.months,
        nearest=_find_nearest(path, months),
        examples=await _or_else((), choose_examples(shared, chosen, words))
        if chosen and not archive
        else (),
        asked=form and replace(form, corpus=selected or form.corpus),
        wrong_date=wrong_date,
        year=match[0] if (match := _YEAR.search(wrong_date)) else "",
        elsewhere=ProphecyForm(corpus=archive.name if archive else selected),
        corpora=corpora,
    )
    page.headers.update(failure.headers)
    return page


async def _or_else(otherwise: _Read, reading: Awaitable[_Read]) -> _Read:
    """Return what is read, or `otherwise` where that fails too."""
    try:
        return await reading
    except PresagioError:
        return otherwise


async def _list_corpora(
    request: Request, status: HTTPStatus, form: ProphecyForm | None
) -> tuple[list[Corpus], str]:
    """Return the corpora to look in, and which is chosen, for who found nothing at an address or
    sent something wrong by the form of headlines."""
    shared: SharedState = request.app.state.shared
    language = find_visitor(request).words.language
    if form:
        return await list_choices(shared, form.corpus, language, may_be_all=True)
    if status is not HTTPStatus.NOT_FOUND:
        return [], ""
    await limit_requests(request, shared)  # strange addresses are not counted otherwise
    return await list_choices(shared, "", language)


def _find_nearest(path: str, months: Sequence[MonthView]) -> MonthView | None:
    """Return the month of some with posts that is nearest to the one that a path names."""
    if not months or not (match := _MONTH_PATH.match(path)):
        return None
    sought = 12 * int(match["year"]) + min(int(match["month"] or 1), 12)
    return min(months, key=lambda each: abs(12 * int(each.when[:4]) + int(each.when[5:]) - sought))


def _explain_failure(
    path: str, failure: Refusal, archive: Corpus | None, months: Sequence[MonthView], words: Words
) -> tuple[str, str | None]:
    """Return what failed, and what to do about it, in the words of pages: by names of archives,
    not of corpora."""
    if failure.unknown:
        said = words.say("There is no archive “{name}”.", name=failure.unknown)
        return said, words.say("Choose one of those that are here.")
    if archive and failure.status is HTTPStatus.NOT_FOUND:
        if path.startswith("/documents/"):
            fix = words.say("It may have been deleted, or a part of its address is missing.")
            return words.say("There is no such post in this archive."), fix
        if match := _MONTH_PATH.match(path):
            first, last = (months[0].name, months[-1].name) if months else ("", "")
            fix = words.say("The archive runs from {first} to {last}.", first=first, last=last)
            said = _say_what_is_missing(match["year"], match["month"], words)
            return said, fix if months else None
    if failure.message == nothing_here().message:
        fix = words.say("Its address may be misspelt. Begin with a headline, or with an archive.")
        return words.say("There is no such page."), fix
    return words.render(failure.message), words.render(failure.fix) if failure.fix else None


def _say_what_is_missing(year: str, month: str | None, words: Words) -> str:
    number = int(month or 1)
    if not 1 <= number <= 12:
        return words.say("There is no month {number}.", number=number)
    when = words.month(int(year), number) if month else year
    return words.say("There are no posts of {when}.", when=when)
