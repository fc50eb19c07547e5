"""The table of rights is whole, and says of each cell what people agreed on."""

from itertools import product

import pytest

from bot.commands.rights import RIGHTS, Effect, Where, Who, may
from bot.request import Place
from tests.bot.conversing import GROUP, PRIVATE


def test_every_cell_is_decided() -> None:
    assert set(RIGHTS) == set(product(Effect, Where))


@pytest.mark.parametrize(("effect", "where"), list(RIGHTS))
def test_who_may_more_may_all_that_others_may(effect: Effect, where: Where) -> None:
    allowed = [may(who, effect, where) for who in Who]
    assert allowed == sorted(allowed)


def test_a_place_is_of_one_kind() -> None:
    inline = Place(platform="test", chat_id="inline:ana", private=True, kept=False)
    kinds = {Where.of(place): place for place in (PRIVATE, GROUP, inline)}
    assert kinds == {Where.PRIVATE: PRIVATE, Where.SHARED: GROUP, Where.NO_CHAT: inline}
