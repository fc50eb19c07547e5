"""The page that explains a failure: what failed, and where one may go on."""

import re
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus

from fastapi import Request
from fastapi.responses import Response

from bot.i18n.words import Words
from bot.web.browsing import describe_archives
from bot.web.examples import Example, choose_examples
from bot.web.failures import Refusal, nothing_here
from bot.web.months import MonthView, YearView, list_years
from bot.web.rendering import render_template
from bot.web.shared_state import SharedState, limit_requests
from bot.web.visitor import ProphecyForm, find_visitor, list_choices, recover_asked
from engine.errors import PresagioError
from engine.values import Corpus

_LONGEST_DATE = 40  # characters of a wrong one that are shown
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)", re.ASCII)
_IN_ARCHIVE = re.compile(r"/(?:corpora|documents)/(?P<name>[^/]+)/")
_MONTH_PATH = re.compile(r"/corpora/[^/]+/(?P<year>\d{4})(?:/(?P<month>\d{1,2}))?/?\Z", re.ASCII)


async def render_failure(request: Request, failure: Refusal) -> Response:
    """Return the page that explains a failure; where nothing is found, with what there is."""
    words = find_visitor(request).words
    form = recover_asked(request, failure.status)
    corpora, selected = await _list_found(request, failure.status, form)
    wrong_date = ""
    if form and not form.date:
        wrong_date = request.query_params.get("date", "").strip()[:_LONGEST_DATE]
    archive = _find_archive(request.url.path, corpora)
    shared: SharedState = request.app.state.shared
    years = await _list_archived(shared, archive, words) if archive else ()
    months = [month for year in years for month in year.months if month.posts]
    message, fix = _explain_failure(request.url.path, failure, archive, months, words)
    page = render_template(
        request,
        "failure.html",
        status=failure.status.value,
        message=message,
        fix=fix,
        rows=await _list_rows(shared, corpora, words) if failure.unknown and not form else (),
        archive=archive,
        years=years,
        month_names=words.months,
        nearest=_find_nearest(request.url.path, months),
        examples=(
            await _list_examples(shared, selected, words) if selected and not archive else ()
        ),
        asked=form and replace(form, corpus=selected or form.corpus),
        wrong_date=wrong_date,
        year=match[0] if (match := _YEAR.search(wrong_date)) else "",
        elsewhere=ProphecyForm(
            headline="", date=None, corpus=archive.name if archive else selected
        ),
        corpora=corpora,
    )
    page.headers.update(failure.headers)
    return page


def _find_archive(path: str, corpora: Sequence[Corpus]) -> Corpus | None:
    """Return the archive below whose address nothing is found, or None."""
    match = _IN_ARCHIVE.match(path)
    return next((corpus for corpus in corpora if match and corpus.name == match["name"]), None)


async def _list_rows(
    shared: SharedState, corpora: Sequence[Corpus], words: Words
) -> Sequence[object]:
    """Return archives as the list of them shows them, or none where they cannot be read."""
    try:
        return await describe_archives(shared, corpora, words)
    except PresagioError:
        return ()


async def _list_archived(shared: SharedState, archive: Corpus, words: Words) -> Sequence[YearView]:
    """Return the years of an archive, or none where they cannot be read."""
    try:
        return await list_years(shared, archive, words)
    except PresagioError:
        return ()


async def _list_examples(shared: SharedState, selected: str, words: Words) -> Sequence[Example]:
    """Return headlines to try in the corpus of that name, or none where it has none."""
    try:
        return await choose_examples(shared, await shared.app.corpus(selected), words)
    except PresagioError:
        return ()


def _find_nearest(path: str, months: Sequence[MonthView]) -> MonthView | None:
    """Return the month of some with posts that is nearest to the one that a path names."""
    if not months or not (match := _MONTH_PATH.match(path)):
        return None
    sought = 12 * int(match["year"]) + min(int(match["month"] or 1), 12)
    return min(months, key=lambda month: abs(_count_months(month.when) - sought))


def _count_months(when: str) -> int:
    year, month = when.split("-")
    return 12 * int(year) + int(month)


def _explain_failure(
    path: str,
    failure: Refusal,
    archive: Corpus | None,
    months: Sequence[MonthView],
    words: Words,
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
            said = _say_what_is_missing(match["year"], match["month"], words)
            return said, _say_what_there_is(months, words)
    if failure.message == nothing_here().message:
        fix = words.say("Its address may be misspelt. Begin with a headline, or with an archive.")
        return words.say("There is no such page."), fix
    return words.render(failure.message), words.render(failure.fix) if failure.fix else None


def _say_what_there_is(months: Sequence[MonthView], words: Words) -> str | None:
    if not months:
        return None
    first, last = months[0].name, months[-1].name
    return words.say("The archive runs from {first} to {last}.", first=first, last=last)


def _say_what_is_missing(year: str, month: str | None, words: Words) -> str:
    number = int(month or 1)
    if not 1 <= number <= 12:
        return words.say("There is no month {number}.", number=number)
    when = words.month(int(year), number) if month else year
    return words.say("There are no posts of {when}.", when=when)


async def _list_found(
    request: Request, status: HTTPStatus, form: ProphecyForm | None
) -> tuple[Sequence[Corpus], str]:
    """Return the corpora to look in, and which is chosen, for who found nothing at an address or
    sent something wrong by the form of headlines."""
    shared: SharedState = request.app.state.shared
    language = find_visitor(request).words.language
    try:
        if form:
            return await list_choices(shared, form.corpus, language, may_be_all=True)
        if status is not HTTPStatus.NOT_FOUND:
            return (), ""
        await limit_requests(request, shared)  # strange addresses are not counted otherwise
        return await list_choices(shared, "", language)
    except PresagioError:
        return (), ""
