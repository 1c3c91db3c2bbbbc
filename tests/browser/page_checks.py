"""Checks of a page: its messages in the console, and barriers for people with impaired sight or a small screen."""

from axe_playwright_python.sync_playwright import Axe


def messages_of(page):
    """Return a list to which a page adds its errors, warnings (a refused style among them) and dialogs."""
    found = []
    page.on("console", lambda message: found.append(message.text) if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("dialog", lambda dialog: found.append(dialog.message))
    return found


def barriers_of(page):
    """Describe each finding of axe-core on a page, and report a page that is wider than its window."""
    violations = Axe().run(page).response["violations"]
    found = [f"{page.url}: {one['id']}: {[node['target'] for node in one['nodes']][:3]}" for one in violations]
    if page.evaluate("document.documentElement.scrollWidth") > page.viewport_size["width"]:
        found.append(f"{page.url} is wider than {page.viewport_size['width']}")
    return found
