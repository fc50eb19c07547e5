"""Small documents of every format, made byte by byte."""

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from importlib import import_module

WORD_TYPES = "[Content_Types].xml"
NAV = ' properties="nav"'


def pdf(
    *pages: Sequence[str],
    title: str = "",
    date: str = "",
    outline: Mapping[str, int] | None = None,
    password: bool = False,
    drawn: bool = False,
    first_number: int = 1,
) -> bytes:
    """Return a PDF file with these lines on its pages; `outline` maps titles to pages, from 1.

    On the pages, numbers from `first_number` are printed. A line has letters of 11 points, one
    that begins with {8} of 8, with {11b} bold and with {11i} italic ones.

    With `password` it opens with no password that anybody knows. `drawn` pages have a line on
    them that is no text.
    """
    objects: list[str] = ["", ""]

    def add(content: str) -> int:
        objects.append(content)
        return len(objects)

    font = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    bold = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>")
    italic = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Oblique >>")
    fonts = f"/F1 {font} 0 R /F1b {bold} 0 R /F1i {italic} 0 R"
    kids = []
    for lines in pages:
        shown = " ".join(map(_drawn_line, lines))
        stream = (
            "10 10 m 90 90 l S " if drawn else ""
        ) + f"BT /F1 11 Tf 14 TL 50 750 Td {shown} ET"
        content = add(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        kids.append(
            add(
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {content} 0 R"
                f" /Resources << /Font << {fonts} >> >> >>"
            )
        )
    outlines = ""
    if outline:
        root = len(objects) + 1
        last = root + len(outline)
        add(f"<< /Type /Outlines /First {root + 1} 0 R /Last {last} 0 R /Count {len(outline)} >>")
        for name, page in outline.items():
            own = len(objects) + 1
            following = f" /Next {own + 1} 0 R" if own < last else ""
            before = f" /Prev {own - 1} 0 R" if own > root + 1 else ""
            add(
                f"<< /Title ({_escaped(name)}) /Parent {root} 0 R"
                f" /Dest [{kids[page - 1]} 0 R /Fit]{following}{before} >>"
            )
        outlines = f" /Outlines {root} 0 R"
    info = add(f"<< /Title ({_escaped(title)}) /Author (Ana Paz) /CreationDate ({date}) >>")
    labels = f" /PageLabels << /Nums [0 << /S /D /St {first_number} >>] >>"
    outlines += labels if first_number != 1 else ""
    objects[0] = f"<< /Type /Catalog /Pages 2 0 R{outlines} >>"
    listed = " ".join(f"{kid} 0 R" for kid in kids)
    objects[1] = f"<< /Type /Pages /Kids [{listed}] /Count {len(kids)} >>"
    secret = "".join(f"{number:02x}" for number in range(32))
    locked = f" /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{secret}> /U <{secret}> >>"
    trailer = f"/Root 1 0 R /Info {info} 0 R /ID [<00> <00>]{locked if password else ''}"
    return _assembled(objects, trailer)


def _drawn_line(line: str) -> str:
    style = re.match(r"\{(\d+)([bi]?)\}", line)
    shown = f"({_escaped(line[style.end() if style else 0 :])}) Tj T*"
    return f"/F1{style[2]} {style[1]} Tf {shown} /F1 11 Tf" if style else shown


def _assembled(objects: Sequence[str], trailer: str) -> bytes:
    content, places = "%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(content))
        content += f"{number} 0 obj\n{each}\nendobj\n"
    start = len(content)
    content += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    content += "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    content += f"trailer\n<< /Size {size} {trailer} >>\nstartxref\n{start}\n%%EOF\n"
    return content.encode("cp1252")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _zipped(members: Mapping[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return content.getvalue()


_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def word(*paragraphs: str, title: str = "", date: str = "2020-03-01T10:00:00Z") -> bytes:
    """Return a Word file; a paragraph that begins with # is a heading, with | a row of cells."""
    body = "".join(map(_word_paragraph, paragraphs))
    return _zipped(
        {
            WORD_TYPES: f'<Types xmlns="{_PACKAGE}/content-types"/>',
            "_rels/.rels": (
                f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1"'
                ' Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
                'officeDocument" Target="word/document.xml"/></Relationships>'
            ),
            "word/document.xml": (
                f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'
            ),
            "docProps/core.xml": (
                f'<c:coreProperties xmlns:c="{_PACKAGE}/metadata/core-properties"'
                ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
                ' xmlns:t="http://purl.org/dc/terms/">'
                f"<dc:title>{title}</dc:title><dc:creator>Ana Paz</dc:creator>"
                f"<t:modified>{date}</t:modified></c:coreProperties>"
            ),
        }
    )


def _word_paragraph(text: str) -> str:
    if text.startswith("|"):
        cells = (f"<w:tc>{_word_paragraph(cell)}</w:tc>" for cell in text[1:].split("|"))
        return f"<w:tbl><w:tr>{''.join(cells)}</w:tr></w:tbl>"
    level = len(text) - len(text.lstrip("#"))
    style = f'<w:pPr><w:pStyle w:val="Heading{level}"/></w:pPr>' if level else ""
    return f"<w:p>{style}<w:r><w:t>{text.lstrip('# ')}</w:t></w:r></w:p>"


def epub(
    *chapters: str,
    title: str = "A book",
    encrypted: bool = False,
    dates: str = "<dc:date>1999</dc:date>",
    contents: int | None = None,
) -> bytes:
    """Return an EPUB book; each chapter is the markup of its body, `dates` that of its dates.

    The chapter of the place `contents` is named as the list of the others.
    """
    items = "".join(
        f'<item id="c{number}" href="c%20{number}.xhtml" media-type="application/xhtml+xml"'
        f"{NAV if number == contents else ''}/>"
        for number in range(len(chapters))
    )
    order = "".join(f'<itemref idref="c{number}"/>' for number in range(len(chapters)))
    lock = (
        '<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData><e:CipherData>'
        '<e:CipherReference URI="text/c 0.xhtml"/></e:CipherData></e:EncryptedData></encryption>'
    )
    return _zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": (
                '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
                '<rootfile full-path="text/book.opf"/></rootfiles></container>'
            ),
            "text/book.opf": (
                '<package xmlns="http://www.idpf.org/2007/opf"'
                ' xmlns:opf="http://www.idpf.org/2007/opf"'
                ' xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
                f"<dc:title>{title}</dc:title><dc:creator>Ana Paz</dc:creator>"
                f"{dates}<dc:language>es</dc:language></metadata><manifest>{items}</manifest>"
                f"<spine>{order}</spine></package>"
            ),
            **{
                f"text/c {number}.xhtml": f"<html><body>{chapter}</body></html>"
                for number, chapter in enumerate(chapters)
            },
            **({"META-INF/encryption.xml": lock} if encrypted else {}),
        }
    )


def scanned(*pages: Sequence[str]) -> bytes:
    """Return a PDF file whose pages are pictures of these lines, without any text."""
    library = import_module("pypdfium2")
    made = library.PdfDocument.new()
    for page in library.PdfDocument(pdf(*pages)):
        width, height = page.get_size()
        picture = library.PdfImage.new(made)
        picture.set_bitmap(page.render(scale=200 / 72, grayscale=True))
        picture.set_matrix(library.PdfMatrix().scale(width, height))
        new = made.new_page(width, height)
        new.insert_obj(picture)
        new.gen_content()
    content = io.BytesIO()
    made.save(content)
    return content.getvalue()
