"""The HTML frame of audits and privacy checks, which works offline and without scripts."""

from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: #2f6fb0; --bad: #b3372f; --mark: #b3372f33; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin-bottom: .3rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.answer { font-size: 1.2rem; padding: .7rem 1rem; border-left: .3rem solid var(--accent); background: var(--soft); }
dl { display: grid; grid-template-columns: max-content auto; gap: .15rem 1rem; } dt { font-weight: 600; } dd { margin: 0; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .5rem; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; } mark { background: var(--mark); color: inherit; } ul { margin: .2rem 0; padding-left: 1.2rem; }
.kind { font-size: .75rem; border: 1px solid var(--line); border-radius: 1rem; padding: 0 .5rem; margin-right: .4rem; }
.bad { color: var(--bad); font-weight: 600; } .quiet { opacity: .75; font-size: .85rem; }
"""


def web_page(title: str, body: str) -> str:
    """Return a page with this title and HTML body."""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title><style>{_STYLE}</style></head><body>
{body}
</body></html>
"""


def text_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table of texts, escaped."""
    return html_table(heads, ([escape(cell) for cell in row] for row in rows))


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table of cells that are already HTML."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
