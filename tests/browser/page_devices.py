"""Input devices that use a page: a mouse with a keyboard for typing, or a keyboard alone."""

from playwright.sync_api import expect

MOST_TABS = 150
IS_FOCUSED = "one => one === document.activeElement"
HAS_OUTLINE = "one => getComputedStyle(one).outlineStyle !== 'none'"


def settle(page):
    """Wait until the picture of the graph is drawn and no longer moves."""
    places = "document.querySelector('.stage').cy?.nodes().map(one => [one.renderedPosition('x'), one.renderedPosition('y')])"
    before, after = None, page.evaluate(places)
    while not after or after != before:
        page.wait_for_timeout(300)
        before, after = after, page.evaluate(places)


def becomes(page, script, value):
    """Return whether a script returns `value` within thirty seconds."""
    for _ in range(300):
        if page.evaluate(script) == value:
            return True
        page.wait_for_timeout(100)
    return False


class Device:
    """Actions of both devices. A control is a locator."""

    def __init__(self, page):
        self.page = page

    def write(self, field, text):
        """Replace the text of a field."""
        self.reach(field)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def paste(self, field, text):
        """Paste a text into a field."""
        self.reach(field)
        self.page.evaluate("text => navigator.clipboard.writeText(text)", text)
        self.page.keyboard.press("Control+V")


class Mouse(Device):
    """Clicks with the mouse."""

    def press(self, control):
        """Follow a link, press a button, or open details."""
        control.click()

    reach = press

    def choose(self, field, label):
        """Choose an option. Playwright cannot click on the list that Chromium opens for it."""
        field.select_option(label=label)

    def slide(self, field, value):
        """Set a slider from 0 to 1."""
        box = field.bounding_box()
        field.click(position={"x": 8 + value * (box["width"] - 16), "y": box["height"] / 2})

    def give(self, field, path):
        """Drop a file on the page."""
        session = self.page.context.new_cdp_session(self.page)
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            session.send("Input.dispatchDragEvent", {"type": kind, "x": 200, "y": 200, "data": data})

    def pick(self, name):
        """Pick a thing of the graph in its picture."""
        settle(self.page)
        place = "name => document.querySelector('.stage').cy.$(`[name = '${name}']`).renderedPosition()"
        self.page.locator("#picture").click(position=self.page.evaluate(place, name))


class Keyboard(Device):
    """Reaches a control with the Tab key, and checks that the focus is visible."""

    def reach(self, control):
        for _ in range(MOST_TABS):
            if control.evaluate(IS_FOCUSED):
                break
            self.page.keyboard.press("Tab")
        else:
            raise AssertionError(f"The Tab key does not reach {control}")
        expect(control).to_be_in_viewport()
        assert control.evaluate(HAS_OUTLINE), f"Nothing shows that {control} has the focus"

    def press(self, control):
        self.reach(control)
        self.page.keyboard.press("Space" if control.evaluate("one => one.matches('button, input')") else "Enter")

    def choose(self, field, label):
        self.reach(field)
        steps = field.locator("option").all_text_contents().index(label) - field.evaluate("one => one.selectedIndex")
        for _ in range(abs(steps)):
            self.page.keyboard.press("ArrowDown" if steps > 0 else "ArrowUp")

    def slide(self, field, value):
        self.reach(field)
        while float(field.input_value()) < value:
            self.page.keyboard.press("ArrowRight")

    def give(self, field, path):
        """Choose a file."""
        self.reach(field)
        with self.page.expect_file_chooser() as opened:
            self.page.keyboard.press("Space")
        opened.value.set_files(path)

    def pick(self, name):
        """Pick a thing of the graph in its list."""
        settle(self.page)
        self.press(self.page.locator(f"details.thing[data-name={name!r}] > summary"))
