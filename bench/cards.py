"""Draws shared pictures of many kinds of text in both shapes, for somebody to look at.

`python -m bench.cards FOLDER` writes them, and says how long each took and what the process holds.
It needs the extra `pictures`, and `cjk` for Chinese, Japanese and Korean.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time

import psutil  # type: ignore[import-untyped]  # no type information

from bot.card import Card, Shape, draw_card

PLAIN = Card(
    headline="Container ship blocks the canal for a third day",
    headline_source="The Paper",
    headline_date="March 2, 2026",
    text="One day a single ship will block the whole canal, and we will learn where socks go.",
    author="Ana Ruiz",
    handle="@ana",
    date_text="June 1, 2017",
    lead_time_text="8 years, 9 months before",
    marks=("foretold",),
    footer="Presagio · t.me/presagio_bot",
    cut_text="shortened",
    missing_text="Signs not drawn:",
)
SPANISH = replace(
    PLAIN,
    headline="Un apagón deja sin luz a medio país durante horas",
    headline_source="El Diario",
    headline_date="2 de marzo de 2026",
    text="Medio país sin luz y nadie encuentra las velas: el apagón llegará. ¿Apostamos?",
    author="Ñusta Íñiguez",
    handle="@nusta",
    date_text="1 de junio de 2017",
    lead_time_text="8 años y 9 meses antes",
    marks=("anunciado",),
    cut_text="abreviado",
    missing_text="Signos no dibujados:",
)
_LONG = (
    "They will say that nobody could have known, although the map was on the wall, the figures on"
    " the table and the minutes in the drawer. Then they will hang a new map, order a larger table"
    " and lock the drawer, and in ten years somebody will ask why there is no key to it. "
)
_EMOJI = "🔥👍🏽👨‍👩‍👧‍👦🏳️‍🌈🇪🇸1️⃣❤️👩🏾‍🚀🏴󠁧󠁢󠁥󠁮󠁧󠁿🐈‍⬛🫠🚢🌊☺️🇯🇵🤷🏻‍♀️🧑‍💻🥑⚽🎉💀😂🙏🏿🌋☕🐦‍🔥🍞🎲🪦🗿"
SAMPLES: Mapping[str, Card] = {
    "plain": PLAIN,
    "spanish": SPANISH,
    "word": replace(PLAIN, headline="1984", text="Soon.", handle=""),
    "link": replace(PLAIN, text="https://example.org/2017/06/01/why-ships-are-too-long-for-canals"),
    "tweet-280": replace(PLAIN, text=_LONG + "We knew."),
    "unbroken-280": replace(PLAIN, headline="x" * 120, text="prophecy" * 35),
    "text-4000": replace(SPANISH, headline=_LONG * 2, text=_LONG * 16),
    "paragraphs": replace(PLAIN, text="First the canal.\n\nThen the port.\n\n\n- socks\n- screens"),
    "emoji": replace(PLAIN, headline="Volcano erupts near the harbour 🌋", text=_EMOJI),
    "emoji-in-words": replace(
        PLAIN, text="🌋🔥 told you 👩🏽‍🚀🇪🇸 — pack the cat 🐈‍⬛", author="🔥 Nico 🔥"
    ),
    "arabic": replace(
        SPANISH,
        headline="Llueve por primera vez en el año en la ciudad",
        text="سيأتي المطر ولن يجد أحد مظلة، وسيقول الجميع إنهم كانوا يعرفون.",
        author="ليلى",
    ),
    "hebrew": replace(
        PLAIN,
        headline="גשם ראשון יורד בעיר אחרי קיץ ארוך",
        headline_source="",
        text="בסוף יבוא הגשם, ואף אחד לא ימצא מטרייה (iPhone 4, 2012).",
        author="נועה לוי",
    ),
    "arabic-unbroken": replace(PLAIN, text="مرحبابالعالم" * 20),
    "devanagari": replace(
        PLAIN,
        headline="शहर में साल की पहली बारिश",
        text="एक दिन बारिश आएगी और किसी के पास छाता नहीं होगा।",
    ),
    "thai": replace(PLAIN, headline="ฝนแรกของปีตกในเมือง", text="วันหนึ่งฝนจะตกและไม่มีใครหาร่มเจอ" * 4),
    "japanese": replace(
        PLAIN,
        headline="運河で船が座礁、三日目も通行止め",
        text="いつか一隻の船が運河を塞ぎ、靴下がどこから来るのかを知るだろう。" * 2,
    ),
    "chinese": replace(
        PLAIN, headline="货轮堵塞运河第三天", text="总有一天，一艘船会堵住整条运河。"
    ),
    "korean": replace(
        PLAIN, headline="운하를 막은 선박, 사흘째", text="언젠가 배 한 척이 운하를 막을 것이다."
    ),
    "scripts": replace(
        PLAIN,
        text="Ωκεανός Океан Օվկիանոս ოკეანე ውቅያኖስ সমুদ্র సముద్రం கடல் सागर ทะเล مطر גשם 大海 ✓ → ∑",
    ),
    "controls": replace(
        PLAIN,
        headline="\u202etrade\u202c of\x00 \ud83d the\ttimes",
        text="a\u202egnitirw\u202c\x1b[31m red\ufeff \u2067x\u2069 Z"
        + "\u0335\u0310" * 30
        + " \ue000 end",
    ),
    "markup": replace(
        PLAIN,
        headline='#read("/etc/passwd") *bold* _it_',
        text='#import "@preview/x:1.0.0" $x^2$ @label <x> \\ \\u{41} `raw` = not // a comment ~ --',
    ),
    "missing": replace(PLAIN, text="Egypt 𓋸 wrote \U00012000\U00012001 and 𝓕𝓪𝓷𝓬𝔂 letters ▢."),
    "wide": replace(PLAIN, text="\ufdfd", author="W" * 80, footer="Presagio"),
    "marks": replace(
        PLAIN,
        text=_LONG * 2,
        marks=("perhaps", "not judged", "repost", "quote", "cut"),
        author="A name that is as long as a name can be made by somebody who likes it long",
    ),
    "unsigned": replace(PLAIN, author="demo", handle="", marks=(), headline_source=""),
    "text-alone": replace(
        PLAIN, headline="", headline_source="", headline_date="", lead_time_text="8 years ago"
    ),
    "headline-alone": Card(headline=PLAIN.headline, headline_source="The Paper", text=""),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, card in SAMPLES.items():
        for shape in Shape:
            began = process_time()
            drawn = draw_card(replace(card, shape=shape))
            took = 1000 * (process_time() - began)
            (folder / f"{name}-{shape}.png").write_bytes(drawn)
            print(f"{name}-{shape}: {took:.0f} ms, {len(drawn) / 1000:.0f} kB")
    print(f"The process holds {psutil.Process().memory_info().rss / 1e6:.0f} MB.")


if __name__ == "__main__":
    main()
