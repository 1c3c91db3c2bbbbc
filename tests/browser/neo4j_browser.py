"""Driving Neo4j Browser as a user does: connect, drop files, run commands, look. For the tests and the pictures of the docs.

Browser (5.24) takes files by drag and drop alone, so a drop is made of the file's real bytes.
"""

import base64
import contextlib
import os
import shutil
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

FOLDER = Path(__file__).parents[2] / "docs" / "browser"
STYLE = FOLDER / "drag-graph.grass"
SAVED_QUERIES = FOLDER / "drag-graph-saved-queries.zip"
SCRIPTS = "drag-graph"
"""The folder of the saved queries in Browser's Favorites."""

PATIENCE = 30_000
"""How long is waited for anything, in milliseconds."""

# Chromium's own talk with its maker is off: a test looks at the server on this machine alone.
_ARGUMENTS = [
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]
_DROP = """([name, content]) => {
  const bytes = Uint8Array.from(atob(content), letter => letter.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name));
  const target = document.querySelector('.filedrop');
  for (const kind of ['dragenter', 'dragover', 'drop'])
    target.dispatchEvent(new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: transfer}));
}"""


def title(path):
    """The name of a saved query in the Favorites: its first line."""
    return path.read_text().partition("\n")[0].removeprefix("//").strip()


class Neo4jBrowser:
    """A page of Neo4j Browser that is connected to a server."""

    def __init__(self, page):
        self.page = page

    def connect(self, http, bolt, user, password):
        """Open the page of the server at `http` (host:port) and fill in its form."""
        self.page.goto(f"http://{http}/browser/")
        self.page.locator('[data-testid="bolt-scheme-select"]').select_option("bolt://")
        self.page.fill('[data-testid="boltaddress"]', bolt.partition("://")[2])
        self.page.fill('[data-testid="username"]', user)
        self.page.fill('[data-testid="password"]', password)
        self.page.click('[data-testid="connect"]')
        expect(self.page.get_by_text("You are connected as user")).to_be_visible()
        expect(self.frames).to_have_count(2)  # a welcome frame comes on top

    @property
    def frames(self):
        """What was run and what came of it, newest first."""
        return self.page.locator('[data-testid="frame"]')

    @property
    def frame(self):
        """The newest frame."""
        return self.frames.first

    def run(self, command):
        """Paste the command into the editor, run it, and return its frame. (Typed braces would be closed by the editor.)"""
        before = self.frames.count()
        self.page.evaluate("text => navigator.clipboard.writeText(text)", command)
        self.page.locator('[data-testid="activeEditor"] .monaco-editor').first.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.press("Control+V")
        self.page.keyboard.press("Control+Enter")
        expect(self.frames).to_have_count(before + 1)
        return self.frame

    def drop(self, path):
        """Drop a file on the page. A style sheet is shown in a frame."""
        before = self.frames.count()
        self.page.evaluate(_DROP, [path.name, base64.b64encode(path.read_bytes()).decode()])
        expect(self.frames).to_have_count(before + (path.suffix == ".grass"))

    def open_saved_queries(self):
        """Open the Favorites and in them the folder of the saved queries."""
        self.page.click('[data-testid="navigationFavorites"]')
        self.page.click(f'[data-testid="expandFolder-{SCRIPTS}"]')

    def run_saved(self, name):
        """Run a saved query of the open drawer by its button; returns its frame."""
        before = self.frames.count()
        item = self.page.locator('[data-testid="savedScriptListItem"]').filter(has_text=name)
        item.locator('[data-testid="savedScriptsButton-Run"]').click()
        expect(self.frames).to_have_count(before + 1)
        return self.frame


@contextlib.contextmanager
def chromium():
    """Start the Chromium that the variable CHROMIUM names, or the one on PATH, else playwright's own."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    arguments = [*_ARGUMENTS, "--no-sandbox"] if os.geteuid() == 0 else _ARGUMENTS
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=path, args=arguments) as browser:
        expect.set_options(timeout=PATIENCE)
        yield browser


@contextlib.contextmanager
def page_in(browser, width=1280, height=900, **values):
    """Open a page with its own cookies in an open browser."""
    size = {"width": width, "height": height}
    with browser.new_context(viewport=size, permissions=["clipboard-read", "clipboard-write"], **values) as context:
        context.set_default_timeout(PATIENCE)
        yield context.new_page()


@contextlib.contextmanager
def chromium_page(width=1280, height=900):
    """Open a page in a new Chromium."""
    with chromium() as browser, page_in(browser, width, height) as page:
        yield page
