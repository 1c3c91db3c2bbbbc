"""Blocks of texts with markup: Markdown by markdown-it-py, HTML by Beautiful Soup, e-mail by Python's own parser."""

import re
from collections.abc import Iterator
from dataclasses import replace
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from typing import Any

from drag_graph.documents.blocks import Block, Headings, on_one_line, table_blocks
from drag_graph.errors import DocumentUnusable

_SKIPPED = ("script", "style", "noscript", "template", "nav", "svg")
_SPACE = re.compile(r"\s+")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCK_TAGS = frozenset(
    """address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer form
    h1 h2 h3 h4 h5 h6 header hr html legend li main menu ol p pre section summary table tbody td tfoot th thead tr ul""".split()  # noqa: SIM905 - a word list reads better as words
)


def markdown_blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of Markdown as written; tables become rows."""
    from markdown_it import MarkdownIt

    lines, headings, done = text.splitlines(), Headings(), 0
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for place, token in enumerate(tokens):
        if token.level or token.map is None or token.map[0] < done:
            continue
        start, end = token.map
        if done < start:
            yield Block("\n".join(lines[done:start]), heading=headings.path)
        done = end
        if token.type == "heading_open":
            block = headings.enter(int(token.tag[1]), tokens[place + 1].content)
            yield replace(block, text="\n".join(lines[start:end]))
        elif token.type == "table_open":
            yield from table_blocks(_markdown_rows(tokens[place:]), headings.path, has_header=True)
        else:
            yield Block("\n".join(lines[start:end]), heading=headings.path)


def _markdown_rows(tokens: list[Any]) -> Iterator[list[str]]:
    row: list[str] = []
    for token in tokens:
        if token.type == "table_close":
            return
        if token.type == "tr_open":
            row = []
        elif token.type == "inline":
            row.append(token.content)
        elif token.type == "tr_close":
            yield row


def html_blocks(content: bytes | str) -> Iterator[Block]:
    """Yield the blocks of a page; its title stands above all other headings."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(content, "html.parser")
    for tag in soup(_SKIPPED):
        tag.decompose()
    title = on_one_line(soup.title.get_text(" ")) if soup.title else ""
    if soup.title:
        soup.title.decompose()
    headings = Headings(title)
    words: list[str] = []
    if title:
        yield Block(title, "heading")
    yield from _walked(soup, headings, words)
    yield _words_block(words, headings)


def _walked(node: Any, headings: Headings, words: list[str]) -> Iterator[Block]:
    """Yield the blocks inside a node; `words` holds the text since the last block."""
    from bs4.element import NavigableString, Tag

    for child in node.children:
        if type(child) is NavigableString:  # its subclasses are comments and declarations
            words.append(_SPACE.sub(" ", str(child)))
        elif isinstance(child, Tag) and child.name == "br":
            words.append("\n")
        elif isinstance(child, Tag) and child.name not in _BLOCK_TAGS:
            yield from _walked(child, headings, words)
        elif isinstance(child, Tag):
            yield _words_block(words, headings)
            yield from _block(child, headings)


def _block(tag: Any, headings: Headings) -> Iterator[Block]:
    if tag.name in _HEADINGS:
        if text := on_one_line(tag.get_text(" ")):
            yield headings.enter(_HEADINGS[tag.name], text)
    elif tag.name == "table" and tag.find("table") is None:
        yield from _table(tag, headings)
    else:
        words: list[str] = []
        yield from _walked(tag, headings, words)
        yield _words_block(words, headings)


def _words_block(words: list[str], headings: Headings) -> Block:
    """Return the text since the last block, and empty `words`."""
    text = "\n".join(on_one_line(line) for line in "".join(words).split("\n"))
    words.clear()
    return Block(text, heading=headings.path)


def _table(table: Any, headings: Headings) -> list[Block]:
    rows = [[cell.get_text(" ") for cell in row(("td", "th"))] for row in table("tr")]
    first = table.find("tr")
    is_headed = bool(table.find("thead")) or (first is not None and first.find("td") is None)
    caption = on_one_line(table.caption.get_text(" ")) if table.caption else ""
    heading = (*headings.path, caption) if caption else headings.path
    return table_blocks(rows, heading, has_header=is_headed or len(rows) > len(rows[0]))


def email_blocks(content: bytes, decoded: Any) -> Iterator[Block]:
    """Yield the blocks of an e-mail: sender, receivers and date as one row, then the text, under the subject as heading.

    `decoded` decodes the bytes of a part whose encoding is unknown. Raises DocumentUnusable.
    """
    message = BytesParser(policy=policy.default).parsebytes(content)
    body = message.get_body(preferencelist=("plain", "html")) if isinstance(message, EmailMessage) else None
    head = [f"{name}: {message[name]}" for name in ("From", "To", "Cc", "Date") if message[name]]
    subject = on_one_line(str(message["Subject"] or ""))
    if body is None and not head and not subject:
        raise DocumentUnusable("The file is not an e-mail.")
    heading = (subject,) if subject else ()
    if subject:
        yield Block(subject, "heading")
    yield Block(" | ".join(head), "row", heading)
    if body is None:
        return
    try:
        text = str(body.get_content())
    except LookupError:
        text = decoded(body.get_payload(decode=True))
    if body.get_content_subtype() != "html":
        yield Block(text, heading=heading)
        return
    for block in html_blocks(text):
        yield Block(block.text, block.kind, (*heading, *block.heading))
