"""Reads XML out of zipped documents."""

import zipfile
from xml.etree.ElementTree import Element

import defusedxml.ElementTree

_LARGEST = 64_000_000  # bytes that a member may unpack to


def packed(archive: zipfile.ZipFile, name: str) -> bytes | None:
    """Return a member, or None if there is none of that name. Raises zipfile's errors."""
    try:
        member = archive.getinfo(name)
    except KeyError:
        return None
    if member.file_size > _LARGEST:
        raise zipfile.BadZipFile("a member unpacks to far more than a document holds")
    with archive.open(member) as stream:
        return stream.read(_LARGEST)


def packed_xml(archive: zipfile.ZipFile, name: str) -> Element | None:
    """Return the root of a member, or None. Raises errors of zipfile and of the XML parser."""
    content = packed(archive, name)
    return None if content is None else defusedxml.ElementTree.fromstring(content)


def text_at(root: Element | None, path: str) -> str | None:
    """Return the text of the first element at a path, without blanks around it, or None."""
    found = None if root is None else root.find(f".//{path}")
    return ((found.text or "").strip() or None) if found is not None else None
