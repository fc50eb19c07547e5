"""`presagio setup`: its arguments."""

from typing import Annotated

import typer

from bot.cli.shared import account, corpus_names, text
from bot.signals import run_until_signal


def command(
    context: typer.Context,
    archive: Annotated[
        list[str] | None, typer.Option("--archive", help="File or folder of an export; repeatable.")
    ] = None,
    corpus: Annotated[
        str,
        typer.Option(
            "--corpus",
            "-c",
            autocompletion=corpus_names,
            help="Corpus that the archive fills.",
            callback=text,
        ),
    ] = "",
    author: Annotated[
        str, typer.Option("--author", help="Account that wrote the archive.", callback=account)
    ] = "",
    name: Annotated[
        str, typer.Option("--name", help='How people know the author: "Ana Ruiz".', callback=text)
    ] = "",
    model_key: Annotated[
        str, typer.Option("--model-key", help="Key of OpenRouter, for judging.", callback=text)
    ] = "",
    model_url: Annotated[
        str,
        typer.Option(
            "--model-url",
            help="Your own model server, such as Ollama's: http://127.0.0.1:11434/v1",
            callback=text,
        ),
    ] = "",
    model: Annotated[str, typer.Option("--model", help="Name of the model.", callback=text)] = "",
    telegram_token: Annotated[
        str,
        typer.Option("--telegram-token", help="Token that @BotFather gave.", callback=text),
    ] = "",
    slack_bot_token: Annotated[
        str, typer.Option("--slack-bot-token", help="xoxb-...", callback=text)
    ] = "",
    slack_app_token: Annotated[
        str, typer.Option("--slack-app-token", help="xapp-...", callback=text)
    ] = "",
    access: Annotated[
        str,
        typer.Option("--access", help="owner: whom you let in; open: everybody.", callback=text),
    ] = "",
    new_owner: Annotated[
        bool, typer.Option("--new-owner", help="Show a code that replaces the owner.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Replace settings that have another value.")
    ] = False,
) -> None:
    """Ask for what is missing, check it, and write the configuration.

    That is config.toml, and presagio.env for secrets.

    Without a terminal, the options say everything. May be run again at any time.

    Example: presagio setup --archive twitter-2024.zip --corpus me
    """
    from bot.cli.setup_checks import Wishes
    from bot.cli.setup_steps import set_up
    from bot.console.output import Output

    wishes = Wishes(
        archive=tuple(archive or ()),
        corpus=corpus,
        author=author,
        name=name,
        model_key=model_key,
        model_url=model_url,
        model=model,
        telegram_token=telegram_token,
        slack_bot_token=slack_bot_token,
        slack_app_token=slack_app_token,
        access=access,
        new_owner=new_owner,
        yes=yes,
    )
    run_until_signal(set_up(wishes, context.obj, output=Output.of_process()))
