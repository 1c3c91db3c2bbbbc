"""Driving Neo4j Browser as a user does: connect, drop files, run commands, look. For the tests and for the pictures of the docs.

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
PATIENCE = 30_000
"""How long is waited for anything, in milliseconds."""

_ARGUMENTS = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"]
_DROP = """([name, content]) => {
  const bytes = Uint8Array.from(atob(content), letter => letter.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name));
  const target = document.querySelector('.filedrop');
  for (const kind of ['dragenter', 'dragover', 'drop'])
    target.dispatchEvent(new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: transfer}));
}"""


class Neo4jBrowser:
    """A page of Neo4j Browser that is connected to a server."""

    def __init__(self, page):
        self.page = page

    def connect(self, http, bolt, user, password):
        """Open the page and fill in its form."""
        self.page.goto(f"http://{http}/browser/")
        self.page.locator('[data-testid="bolt-scheme-select"]').select_option("bolt://")
        self.page.fill('[data-testid="boltaddress"]', bolt.partition("://")[2])
        self.page.fill('[data-testid="username"]', user)
        self.page.fill('[data-testid="password"]', password)
        self.page.click('[data-testid="connect"]')
        expect(self.page.get_by_text("You are connected as user")).to_be_visible()

    @property
    def frame(self):
        """The newest frame: a command and what came of it."""
        return self.page.locator('[data-testid="frame"]').first

    def run(self, command):
        """Put the command into the editor in place of what is there, run it, and return its frame."""
        before = self.frame.get_attribute("id")
        self.page.locator('[data-testid="activeEditor"] .monaco-editor').first.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.press("Delete")
        self.page.keyboard.insert_text(command)
        self.page.keyboard.press("Control+Enter")
        return before

    def drop(self, path):
        """Drop a file on the page."""
        self.page.evaluate(_DROP, [path.name, base64.b64encode(path.read_bytes()).decode()])


@contextlib.contextmanager
def chromium_page(width=1400, height=900):
    """A page in a real Chromium: the system's (CHROMIUM, or on PATH), else playwright's own."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    arguments = [*_ARGUMENTS, "--no-sandbox"] if os.geteuid() == 0 else _ARGUMENTS
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        page = browser.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(PATIENCE)
        yield page
        browser.close()
