"""What Lighthouse says of the pages: performance, accessibility, best practices, and search engines where they come.

`python -m bench.lighthouse` measures the demonstration. It fetches Lighthouse with npx and needs a Chromium. No part
of `make bench`: Lighthouse measures the machine as well.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench.figure import Figure, figure_table
from bench.serving import IBI, running

LIGHTHOUSE = "lighthouse@12"
AIM = 95
FOR_READERS = ("performance", "accessibility", "best-practices")
FOR_ENGINES = (*FOR_READERS, "seo")


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-") as home:
        data = Path(home) / "data"
        variables = {"IBI_LOCK_DIR": f"{home}/locks", "IBI_LOG_LEVEL": "error"}
        command = (*IBI, "up", "--demo", "--port", "0", "--data", str(data))
        with running(command, Path(home), variables) as server:
            return list(_judge(f"http://127.0.0.1:{server.port}", data, variables))


def _judge(url: str, data: Path, variables: Mapping[str, str]) -> Iterator[Figure]:
    item, cookies = _sign_in(url, data, variables)
    pages = {
        "home": (f"{url}/", FOR_ENGINES, {}),
        "item": (item, FOR_ENGINES, {}),
        "search": (f"{url}/search?q=vapour", FOR_READERS, {}),
        "deposit": (f"{url}/deposit", FOR_READERS, {"Cookie": cookies}),
    }
    for name, (page, categories, headers) in pages.items():
        for category, score in _scores(page, categories, headers).items():
            yield Figure(f"{name}: {category}", score, "of 100", None, f"≥ {AIM}", score >= AIM)


def _sign_in(url: str, data: Path, variables: Mapping[str, str]) -> tuple[str, str]:
    """The page of an item, and the cookies of the administrator."""
    command = [*IBI, "person", "link", "admin", "--data", str(data)]
    told = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=True)
    link = next(word for word in told.stdout.split() if "/sign-in/" in word)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{url}/search?q=vapour")
        item = str(page.locator('main a[href*="/col/"]').first.evaluate("link => link.href"))
        page.goto(link)
        page.locator("main button").first.click()
        cookies = "; ".join(f"{each['name']}={each['value']}" for each in context.cookies())
        browser.close()
    return item, cookies


def _scores(page: str, categories: tuple[str, ...], headers: Mapping[str, str]) -> Mapping[str, float]:
    command = ["npx", "--yes", LIGHTHOUSE, page, "--quiet", "--output=json", "--output-path=stdout"]
    command += ["--chrome-flags=--headless=new --no-sandbox", f"--only-categories={','.join(categories)}"]
    command += [f"--extra-headers={json.dumps(headers)}"] if headers else []
    environment = {**os.environ, "CHROME_PATH": _chromium()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {name: 100 * found["score"] for name, found in json.loads(done.stdout)["categories"].items()}


def _chromium() -> str:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))


if __name__ == "__main__":
    measured = figures()
    print(figure_table(measured))
    sys.exit(0 if all(figure.is_met for figure in measured) else 1)
