"""Room for events, in all and in each chat; notices that are not repeated."""

from contextlib import ExitStack

from hypothesis import given
from hypothesis import strategies as st

from bot.conversation.turns import Backpressure, Room


@given(st.lists(st.sampled_from("abc"), max_size=60), st.integers(1, 10), st.integers(1, 10))
def test_admitted_events_never_exceed_twice_the_bounds(
    chats: list[str], maximum: int, max_in_chat: int
) -> None:
    crowd, inside = Backpressure(maximum=maximum, max_in_chat=max_in_chat), []
    with ExitStack() as stack:
        for chat in chats:
            if crowd.room(chat) is not Room.FULL:
                stack.enter_context(crowd.count_event(chat))
                inside.append(chat)
        assert len(inside) <= 2 * maximum
        assert all(inside.count(chat) <= 2 * max_in_chat for chat in "abc")
        if len(inside) < len(chats):  # somebody was left alone, and for a reason
            assert len(inside) == 2 * maximum or any(
                inside.count(chat) == 2 * max_in_chat for chat in "abc"
            )
    assert crowd.room("a") is Room.FREE
