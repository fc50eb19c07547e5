"""/today, /preview and /history: automatic posts, made now, planned, and past."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from bot.app import App
from bot.commands.registry import Command
from bot.commands.rights import JUDGED, LOOKS, Act, Effect
from bot.commands.subscribe import list_obstacles, said_next, subscription_here
from bot.i18n.words import Words, marked
from bot.jobs.content import (
    Content,
    DraftContent,
    FeedNotice,
    NothingFound,
    PictureContent,
    PostContent,
    Trouble,
    build_post_content,
    content_from_json,
    content_to_json,
)
from bot.jobs.digest import build_pictures, count_unchosen, preview_selection, read_repeat_after
from bot.replies.buttons import WRITE, answer_button
from bot.replies.limits import cut
from bot.replies.post import PostItem, post_reply, say_nothing_found, write_day
from bot.replies.prophecy import hit_view
from bot.reply import Button, Reply, name_flags, reply_aside
from bot.request import Request
from db.chat.answers import Answers
from db.posting.outbox import Outbox
from engine.chat import Answer, zone_or_utc
from engine.posting.choose import (
    WINDOW,
    MismatchReason,
    Reason,
    RejectedFind,
    RejectionReason,
    Selection,
)
from engine.posting.delivery import (
    DeliveryState,
    FindState,
    OwedPost,
    PastDelivery,
    PostingMode,
    SelectedFind,
    Subscription,
)

_LEFT_OUT_SHOWN = 10
_LONGEST_HEADLINE, _LONGEST_TEXT = 150, 280
REASONS: Mapping[Reason, str] = {
    MismatchReason.OLD: marked("from before this chat subscribed"),
    MismatchReason.CATEGORY: marked("of another category"),
    MismatchReason.FEED: marked("of another feed"),
    MismatchReason.LANGUAGE: marked("in another language"),
    MismatchReason.WORD_MISSING: marked("none of the words that must occur"),
    MismatchReason.WORD_PRESENT: marked("a word that must not occur"),
    RejectionReason.NOTHING_FOUND: marked("no tweet was found"),
    RejectionReason.TOO_WEAK: marked("judged too weak for a post"),
    RejectionReason.UNWANTED_KIND: marked("of a kind that is not posted here"),
    RejectionReason.NOT_JUDGED: marked("not judged"),
    RejectionReason.TOO_LITTLE_IN_COMMON: marked("not judged, and too few words in common"),
    RejectionReason.STORY_POSTED: marked("posted before"),
    RejectionReason.TEXT_POSTED: marked("its tweet was posted before"),
    RejectionReason.EARLIER_CASE: marked("it only happened before, as another one this week"),
    RejectionReason.BEYOND_BEST: marked("others are better"),
}

_PAST_SHOWN, _LONGEST_PAST = 10, 200
_STATES = {
    DeliveryState.OWED: marked("not sent yet"),
    DeliveryState.SENT: marked("sent"),
    DeliveryState.FAILED: marked("given up"),
}


async def _post_current_finds(request: Request, app: App) -> Reply | None:
    """Post the current finds through the outbox, so that they are not posted again."""
    words = request.words
    subscription = replace(
        await _find_subscription(request, app), since=None, thread=request.place.thread
    )
    selection = await _select_finds(app, subscription, request.now)
    if not selection.selected:
        text = words.say("Nothing to tell just now; /preview says why.")
        return reply_aside(request, text)
    zone = zone_or_utc(subscription.chat.time_zone)
    day = request.now.astimezone(zone).date()
    if request.place.platform not in app.posters:
        return post_reply(
            await _store_answers(request, Answers(app.database), selection.selected),
            words,
            day,
            zone=zone,
            platform=request.place.platform,
            compact=not request.known_chat.full_answers,
            writes=app.client is not None,
        )
    post = OwedPost(
        subscription=subscription,
        key=f"today:{subscription.chat.id}:{request.event_id}",
        content=content_to_json(build_post_content(selection.selected, day)),
        selected=selection.selected,
        **build_pictures(subscription, selection.selected),
        asked=True,
    )
    await Outbox(app.database).decide([post], now=request.now, repeat_after=read_repeat_after(app))
    return None  # the post is the answer, even if it was another one made meanwhile


async def _store_answers(
    request: Request, answers: Answers, selected: Sequence[SelectedFind]
) -> list[PostItem]:
    """Store an answer for each find that is shown immediately."""
    items = []
    for chosen in selected:
        story, prophecy = chosen.find.story, chosen.find.prophecy
        first = prophecy.hits.index(chosen.hit)
        answer = Answer(prophecy=prophecy, asked_at=request.now, first=first, last=first + 1)
        number = await answers.keep(request.known_chat, request.place.thread, answer)
        answer = replace(answer, id=number)
        items.append(PostItem(title=story.title, link=story.link, answer=answer))
    return items


async def _show_preview(request: Request, app: App) -> Reply:
    words = request.words
    subscription = await _find_subscription(request, app)
    selection = await _select_finds(app, subscription, request.now)
    if subscription.mode is PostingMode.OFF:
        times = words.say("This chat is told nothing unasked; /subscribe changes that.")
    else:
        times = said_next(subscription, request) or words.say("No post is planned.")
    lines, hindered = [times, ""], list[str]()
    if selection.selected:
        lines.append(words.say("A post would now tell:"))
        for place, item in enumerate(selection.selected, start=1):
            lines += _describe_selected(place, item, words)
    else:
        lines.append(words.say("A post would now be empty."))
        lines += (hindered := await list_obstacles(request, subscription, app))
    if selection.rejected:
        lines += ["", words.say("Left out:"), *_list_rejected(selection.rejected, words)]
    unfound = await _count_unfound(app, subscription, request)
    silent = subscription.mode is PostingMode.OFF or selection.selected or selection.rejected
    if not (silent or hindered or unfound):
        unfound = [words.say("No news has come from the feeds in the last day.")]
    lines += unfound
    buttons: tuple[tuple[Button, ...], ...] = ()
    if subscription.compose and selection.selected:
        draft, buttons = await _offer_draft(request, app, selection.selected[0])
        lines += ["", draft]
    return Reply(words=words, text="\n".join(lines), ephemeral=True, buttons=buttons)


async def _offer_draft(
    request: Request, app: App, first: SelectedFind
) -> tuple[str, tuple[tuple[Button, ...], ...]]:
    """Return what to say of the draft that follows a post, and a button that writes it.

    It is not written unasked: that takes up to two minutes, and money each time.
    """
    words = request.words
    if app.client is None:
        return words.say("No draft follows it: no language model is set up."), ()
    [stored] = await _store_answers(request, Answers(app.database), [first])
    button = answer_button(stored.answer, words.say("Draft"), WRITE, stored.answer.first)
    return words.say(
        "A draft of a tweet about its first story follows it; the button writes one."
    ), ((button,),)


def _describe_selected(place: int, selected: SelectedFind, words: Words) -> Iterator[str]:
    story = selected.find.story
    view = replace(hit_view(selected.hit, story.published, words), rank=place)
    yield f"{place}. {cut(story.title, _LONGEST_HEADLINE)}"
    facts = filter(None, (view.date_text, view.age, *name_flags(view.flags, words)))
    yield f"   {', '.join(facts)}: {cut(view.text, _LONGEST_TEXT)}"


def _list_rejected(rejected: Sequence[RejectedFind], words: Words) -> Iterator[str]:
    for left in rejected[:_LEFT_OUT_SHOWN]:
        title = cut(left.find.story.title, _LONGEST_HEADLINE)
        yield f"- {title}: {words.say(REASONS[left.reason])}"
    others = Counter(left.reason for left in rejected[_LEFT_OUT_SHOWN:])
    for reason, number in others.most_common():
        sentence = words.say(REASONS[reason])
        more = words.say("{number} more: {reason}", number=words.number(number), reason=sentence)
        yield f"- {more}"


async def _count_unfound(app: App, subscription: Subscription, request: Request) -> list[str]:
    """Return lines that count the stories without candidates."""
    words = request.words
    tally = await count_unchosen(app, subscription.chat, since=request.now - WINDOW)
    waiting = tally.get(FindState.PROMISING, 0) + tally.get(None, 0)
    lines = []
    if dull := tally.get(FindState.DULL, 0):
        lines.append(
            words.count(
                "No tweet has enough words in common with {number} other story.",
                "No tweet has enough words in common with {number} other stories.",
                dull,
            )
        )
    if waiting:
        lines.append(
            words.count(
                "{number} story is not judged yet.", "{number} stories are not judged yet.", waiting
            )
        )
    return ["", *lines] if lines else []


async def _find_subscription(request: Request, app: App) -> Subscription:
    """Return the chat's subscription, or that of a new chat if it has none."""
    chat = request.known_chat
    subscription = await subscription_here(request, app)
    return subscription or Subscription(chat=chat, mode=PostingMode.OFF)


async def _select_finds(app: App, subscription: Subscription, now: datetime) -> Selection:
    return await preview_selection(app, subscription, since=now - WINDOW, now=now)


TODAY = Command(
    name="today",
    summary=marked("post now what of the last day's news was foretold"),
    usage="/today",
    example="/today",
    for_channels=True,
    handler=_post_current_finds,
    act=Act(Effect.POSTS, slow=True),
)
PREVIEW = Command(
    name="preview",
    summary=marked("what the next post would tell, and why not the rest"),
    usage="/preview",
    example="/preview",
    for_channels=True,
    handler=_show_preview,
    act=JUDGED,
)


async def _show_history(request: Request, app: App) -> Reply:
    words, chat = request.words, request.known_chat
    past = await Outbox(app.database).history(chat, _PAST_SHOWN)
    if not past:
        return reply_aside(request, words.say("Nothing was posted here unasked yet."))
    lines = [words.say("The last posts of this chat:")]
    for delivery in past:
        local = (delivery.settled_at or delivery.created_at).astimezone(zone_or_utc(chat.time_zone))
        day, state = write_day(local.date(), words), _say_state(delivery, words)
        try:
            described = _name_content(content_from_json(delivery.content), words)
        except ValueError:  # written by another version
            described = "…"
        described = cut(described, _LONGEST_PAST)
        lines.append(f"{day}, {local.hour}:{local:%M}{state}: {described}")
    return Reply(words=words, text="\n".join(lines), ephemeral=True)


def _say_state(delivery: PastDelivery, words: Words) -> str:
    """Return what became of a post, or "" if it was sent as it should be. Whoever runs the bot
    reads what the platform said."""
    error = words.render(delivery.error) if delivery.error and words.operator else ""
    if delivery.state is DeliveryState.SENT and not error:
        return ""
    state = words.say(_STATES[delivery.state])
    return f" · {state} ({error})" if error else f" · {state}"


def _name_content(content: Content, words: Words) -> str:
    match content:
        case PostContent():
            return " / ".join(story.title for story in content.stories)
        case PictureContent():
            return words.say("picture: {headline}", headline=content.story.title)
        case DraftContent():
            return words.say("draft: {headline}", headline=content.story.title)
        case NothingFound():
            return say_nothing_found(content.day, words, judged=content.judged)
        case FeedNotice():
            return words.say("about the feed {feed}", feed=content.feed)
        case Trouble():
            return words.render(content.said)


HISTORY = Command(
    name="history",
    summary=marked("what I posted here by myself"),
    usage="/history",
    example="/history",
    for_channels=True,
    handler=_show_history,
    act=LOOKS,
)
