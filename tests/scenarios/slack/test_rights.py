"""Who may do what in a workspace."""

from tests.scenarios.slack.stage import SlackStage

REFUSED = "Only admins of this workspace may use /presagio settings. Ask one of them."


async def test_a_channel_named_like_a_direct_message_is_configured_only_by_admins(
    slack_bot: SlackStage,
) -> None:
    trap = slack_bot.slack.channel("directmessage", [slack_bot.alice, slack_bot.bob])
    await slack_bot.alice.commands(trap, "/presagio", "settings listening all")
    (refused,) = await slack_bot.replies(1)
    assert refused.visible == REFUSED
    assert refused.ephemeral_to is slack_bot.alice
    assert await slack_bot.rows("SELECT private, listening FROM chat") == [(False, "mentions")]


async def test_anyone_can_change_settings_in_their_direct_message(slack_bot: SlackStage) -> None:
    direct = slack_bot.slack.im(slack_bot.alice)
    await slack_bot.alice.commands(direct, "/presagio", "settings threshold foretold")
    (shown,) = await slack_bot.replies(1)
    assert "threshold: foretold" in shown.visible
    assert await slack_bot.rows("SELECT private, threshold FROM chat") == [(True, "prediction")]


async def test_an_admin_of_another_workspace_has_no_admin_rights(slack_bot: SlackStage) -> None:
    guest = slack_bot.slack.user("eve", admin=True, owner=True)
    guest.team = "TELSEWHERE"
    shared = slack_bot.slack.channel("shared", [slack_bot.alice, guest])
    await guest.commands(shared, "/presagio", "settings threshold foretold")
    (refused,) = await slack_bot.replies(1)
    assert refused.visible == REFUSED
    slack_bot.alice.is_admin = True
    await slack_bot.alice.commands(shared, "/presagio", "settings threshold foretold")
    await slack_bot.replies(2)
    assert await slack_bot.rows("SELECT threshold FROM chat") == [("prediction",)]


async def test_a_workspace_admin_cannot_change_the_global_glossary(
    slack_stage: SlackStage,
) -> None:
    operator = slack_stage.bob
    slack_stage.environment["PRESAGIO_CHAT__ADMINS"] = f'["slack:{operator.id}"]'
    slack_stage.alice.is_admin = True
    async with slack_stage.serving():
        await slack_stage.alice.commands(
            slack_stage.general, "/presagio", "glossary add president = clown"
        )
        (refused,) = await slack_stage.replies(1)
        assert refused.visible.startswith("Only my operators may use /presagio glossary")
        assert f"you are slack:{slack_stage.alice.id}" in refused.visible
        assert await slack_stage.rows("SELECT count(*) FROM alias_group") == [(0,)]
        await operator.commands(slack_stage.general, "/presagio", "glossary add coffee = java")
        await slack_stage.replies(2)
    assert await slack_stage.rows("SELECT terms FROM alias_group") == [(["coffee", "java"],)]
