"""The table of rights is whole, and says of each cell what people agreed on."""

from itertools import product

import pytest

from bot.commands.rights import RIGHTS, Effect, Where, Who, may_act
from bot.request import Place
from tests.bot.conversing import GROUP, PRIVATE


def test_rights_table_covers_every_effect_and_place() -> None:
    assert set(RIGHTS) == set(product(Effect, Where))


@pytest.mark.parametrize(("effect", "where"), list(RIGHTS))
def test_higher_role_may_do_everything_a_lower_role_may(effect: Effect, where: Where) -> None:
    allowed = [may_act(who, effect, where) for who in Who]
    assert allowed == sorted(allowed)


def test_place_is_classified_as_private_shared_or_no_chat() -> None:
    inline = Place(platform="test", chat_id="inline:ana", private=True, kept=False)
    kinds = {Where.of(place): place for place in (PRIVATE, GROUP, inline)}
    assert kinds == {Where.PRIVATE: PRIVATE, Where.SHARED: GROUP, Where.NO_CHAT: inline}
