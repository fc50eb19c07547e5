"""What a page says of itself becomes a headline, or the reason why it has none."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.page.headline import NoHeadline, choose_headline, slug_words
from engine.page.metadata import read_page

NOW = datetime(2026, 11, 28, tzinfo=UTC)
URL = "https://www.lighthouse.example/2026/ships-wait-off-the-coast"
HEADLINE = "Ships wait off the coast as the strike goes on"


def choose(markup: str, url: str = URL) -> str | NoHeadline:
    return choose_headline(read_page(markup.encode(), None, now=NOW), url)


def og(title: str, site: str = "") -> str:
    named = f'<meta property="og:site_name" content="{site}">' if site else ""
    return f'{named}<meta property="og:title" content="{title}">'


@pytest.mark.parametrize(
    "markup",
    [
        f"<title>{HEADLINE}</title>",
        f"<title>{HEADLINE} | The Lighthouse</title>",
        f"<title>The Lighthouse | {HEADLINE}</title>{og('', 'The Lighthouse')}",
        og(HEADLINE) + "<title>Home</title>",
        og("The Lighthouse", "The Lighthouse") + f"<title>{HEADLINE} | The Lighthouse</title>",
        og("The Lighthouse") + f"<title>{HEADLINE} - The Lighthouse</title>",
        og("lighthouse.example") + f"<title>{HEADLINE}</title>",
        og("Lighthouse") + f"<h1>{HEADLINE}</h1>",
        og("Untitled Document") + f"<title>{HEADLINE}</title>",
        f"<title>Startseite</title><h1>{HEADLINE}</h1>",
        og("The Lighthouse") + f"<title>{HEADLINE}</title>",
        f'<title>Ana on X: "{HEADLINE}" / X</title>',
        f"<title>Subscribe to read | The Lighthouse</title>{og(HEADLINE)}",
        f'<script type="application/ld+json">{{"@type": "Article", "headline": "{HEADLINE}"}}'
        "</script>"
        "<title>The Lighthouse</title>",
    ],
)
def test_the_first_title_that_is_no_name_is_the_headline(markup: str) -> None:
    assert choose(markup) == HEADLINE


@pytest.mark.parametrize(
    "title",
    [
        *("Log in", "Log in to continue", "Iniciar sesión", "Suscríbete para leer"),
        *(
            "Attention Required! | Cloudflare",
            "Are you a robot?",
            "Sign in to your account",
            "Log into Friendbook",
            "Sign Up | WorkedIn",
        ),
        *("Lighthouse: Log In or Sign Up", "Subscribe to continue reading | The Lighthouse"),
        *("Just a moment...", "One more step", "Please Wait... | Cloudflare", "Robot or human?"),
        *("Client Challenge", "Vercel Security Checkpoint", "Security Check Required"),
        *("Checking your browser before accessing lighthouse.example", "reCAPTCHA", "Captcha"),
        *("Pardon Our Interruption", "JavaScript is not available.", "Loading..."),
        *("Please enable JavaScript and cookies to continue", "Redirecting...", "Redirect Notice"),
        *("You are being redirected...", "The Lighthouse - Are you a robot?", "DDoS-Guard"),
        *("Before you continue to Moogle", "Bevor Sie zu Moogle weitergehen"),
        *("Antes de ir a Moogle", "Yahoo is part of the Yahoo family of brands"),
        *("Your Privacy Choices", "Manage cookie preferences", "Configuración de cookies"),
        *("404", "404 Not Found", "Error 403", "403 Forbidden", "Page not found - The Lighthouse"),
        *("Sorry, this page isn't available", "Oops! Something went wrong", "Access Denied"),
        *("This page is no longer available", "Access to this page has been denied"),
        *("Access denied | lighthouse.example used Cloudflare to restrict access", "Blocked"),
        *("Página no encontrada", "Seite nicht gefunden", "Page introuvable", "Acceso denegado"),
        *("Untitled Document", "Home", "Home | The Lighthouse", "Inicio", "New Tab", "Index"),
        *("MSN", "Threads", "lighthouse.example", "The-Lighthouse.example", " - YouTube"),
        *("Ana (@ana) on Threads", "Telegram: View @harbour", "Wayback Machine"),
        *("Telegram – a new era of messaging", "https://lighthouse.example/a"),
        *(
            "Making sure you're not a bot!",
            "Error 404 (Not Found)!!1",
            "401 Authorization Required",
        ),
        *("The article you are looking for has expired", "This account has been suspended."),
        *("Este artículo ya no está disponible", "Diese Seite existiert nicht", "410 Gone"),
        *("L’article n’existe plus", "Accede para seguir leyendo", "Страница не найдена"),
        *("ページが見つかりません", "页面不存在", "페이지를 찾을 수 없습니다", "الصفحة غير موجودة"),
        *(
            "Innan du fortsätter till Moogle",
            "React App",
            "Index of /",
            "moogle.example is for sale",
        ),
        "Ana (@ana@ponds.example)",
    ],
)
def test_the_title_of_a_page_before_an_article_is_no_headline(title: str) -> None:
    assert choose(f"<title>{title}</title><h1></h1>") is NoHeadline.WALL
    assert choose(og(title) + f"<title>{title}</title><h1>Security check</h1>") is NoHeadline.WALL


@pytest.mark.parametrize(
    "title",
    [
        *("Login failures at three banks lock thousands out", "Robot opens a bar in Madrid"),
        *("404 people rescued from a ferry", "Subscribers leave after the price rises"),
        *("Access to water denied to a million people", "Privacy law passes the senate"),
        *("Sorry seems to be the hardest word for the minister", "Welcome to the age of rust"),
        *("Site of the old factory is for sale", "The missing page was found in an attic"),
        *("Something went wrong at the plant, says regulator", "Verify the votes, say both sides"),
        *("Internet Archive loses in court", "Register to vote before Monday, officials say"),
        *("News of the strike reaches the islands", "Blocked canal costs a billion a day"),
        *("Before you continue the diet, read the small print of the study", "Bad gateway drugs?"),
        *("Human error", "Missing man found", "Back down", "Home sale"),
        *("Ships wait – and nobody unloads them", "Iniciar la sesión costó tres horas"),
        *(
            "Un momento para la historia del puerto",
            "港湾局長が監査後に辞任",
            "ผู้อำนวยการท่าเรือลาออก",
        ),
    ],
)
def test_a_headline_with_words_of_walls_is_one(title: str) -> None:
    assert choose(f"<title>{title}</title>") == title
    assert choose(f"{og(title, 'The Lighthouse')}<title>{title} | The Lighthouse</title>") == title


@pytest.mark.parametrize(
    ("url", "is_post"),
    [
        ("https://t.me/harbour/12", True),
        ("https://t.me/s/harbour/12", True),
        ("https://t.me/harbour", False),
        ("https://elsewhere.example/harbour/12", False),
    ],
)
def test_a_post_of_a_channel_is_its_text_and_not_its_name(url: str, is_post: bool) -> None:
    markup = og("Harbour Channel", "Telegram") + (
        f'<meta property="og:description" content="{HEADLINE}&#10;&#10;More below.">'
        "<title>Telegram: View @harbour</title>"
    )
    assert choose(markup, url) == (HEADLINE if is_post else NoHeadline.WALL)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/2026/11/28/dow-falls-500-points-tariffs", "dow falls 500 points tariffs"),
        ("/news/ships-wait-off-coast-20261128.html", "ships wait off coast"),
        ("/a/strike_goes_on_at_port?x=1", "strike goes on at port"),
        ("/espa%C3%B1a-gana-la-copa/amp/", "españa gana la copa"),
        ("/strike-goes-on-at-port_e1234.amp.html", "strike goes on at port"),
        ("/article/12345678", None),
        ("/p/3f2a9bc1d0e4-77aa12", None),
        ("/", None),
        ("/live/sport", None),
    ],
)
def test_the_words_of_an_address_are_read(path: str, words: str | None) -> None:
    assert slug_words(f"https://lighthouse.example{path}") == words


def test_a_title_that_its_address_names_is_no_wall() -> None:
    title = "Please wait for the next captain, sailors say"
    assert choose(f"<title>{title}</title>") is NoHeadline.WALL
    url = "https://lighthouse.example/please-wait-for-the-next-captain"
    assert choose(f"<title>{title}</title>", url) == title


def test_no_real_article_page_is_refused(shared_data: Path) -> None:
    pages = sorted((shared_data / "documents" / "html").glob("*.html"))
    refused = [
        path.name
        for path in pages
        if isinstance(choose_headline(read_page(path.read_bytes(), None, now=NOW), URL), NoHeadline)
    ]
    assert len(pages) == 40
    assert refused == []


@given(st.text(max_size=200), st.text(max_size=60))
def test_any_page_and_address_have_a_headline_or_a_reason(markup: str, path: str) -> None:
    found = choose(f"<title>{markup}</title>{markup}", f"https://e.org/{path}")
    assert isinstance(found, NoHeadline) or found.strip()
    slug_words(f"https://e.org/{path}")
