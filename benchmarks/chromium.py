"""The headless Chromium in which pages are measured and pictured."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's, or else playwright's own."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--disable-gpu"])
        yield browser
        browser.close()


def counting(page: Page) -> CDPSession:
    """A session that counts what the page's process does."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    return session


def counted(session: CDPSession, name: str = "ProcessTime") -> float:
    """A number of Chromium's about the page: without a name, its processor seconds."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(float(each["value"]) for each in metrics if each["name"] == name)
