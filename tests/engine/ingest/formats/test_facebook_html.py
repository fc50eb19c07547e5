"""Posts of Facebook's export as HTML."""

from pathlib import Path

from tests.engine.ingest.reading import accepted, documents, moment_of

OLD = """<html><body><div class="_a706"><div class="_3-95 _2pi0 _2lej uiBoxWhite noborder">
<div class="_2pin">Ana Paz updated her status.</div>
<div class="_2pin"><div>The dam will break</div></div>
<div class="_3-94 _2lem">Apr 15, 2022, 5:20 AM</div></div></div></body></html>"""
NEW = """<html><body><div class="_3-95 _a6-g"><div class="_2ph_ _a6-h _a6-i">Ana Paz</div>
<div class="_2ph_ _a6-p"><div><div class="_2pin"><div>La presa se romperá</div></div></div></div>
<div class="_3-94 _a6-o"><a href="x"><div class="_a72d">15 abr 2022 5:20:33</div></a></div></div>
<div class="_3-95 _a6-g"><div class="_2ph_ _a6-p"><img src="a.jpg"></div>
<div class="_3-94 _a6-o"><div class="_a72d">16 abr 2022 5:20:33</div></div></div></body></html>"""


def write(folder: Path, page: str, name: str = "posts/your_posts_1.html") -> Path:
    file = folder / "your_facebook_activity" / name
    file.parent.mkdir(parents=True)
    file.write_text(page, encoding="utf-8")
    return folder


def test_posts_of_both_layouts_are_read(tmp_path: Path) -> None:
    (old,) = accepted(write(tmp_path / "old", OLD))
    assert (old.text, moment_of(old).isoformat()) == (
        "The dam will break",
        "2022-04-15T05:20:00+00:00",
    )
    stored = accepted(write(tmp_path / "new", NEW))
    assert [d.text for d in stored] == ["La presa se romperá", "[photo]"]
    assert moment_of(stored[0]).isoformat() == "2022-04-15T05:20:33+00:00"


def test_messages_as_pages_are_refused_by_name(tmp_path: Path) -> None:
    stored, (reject,) = documents(write(tmp_path, OLD, "messages/inbox/bob/message_1.html"))
    assert stored == []
    assert "Facebook or Instagram" in reject.reason
