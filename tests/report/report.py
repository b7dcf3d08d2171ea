#!/usr/bin/env python3
"""Opens reports in headless Chromium as a reader would: wide and narrow, light and dark.

Usage: report.py --chromium PROGRAM --screenshots FOLDER --sample WRITE-SAMPLE-REPORT    reports of made-up runs
       report.py --chromium PROGRAM --screenshots FOLDER --tessera PROGRAM               the report of a small search
       report.py --chromium PROGRAM --self-test     each check must find a fault that is planted for it

Fails for console messages, requests, sideways scrolling, text under 12 pixels or of little contrast, and labels over labels.
Exits with 77 where there is no Chromium.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import browser

WIDTHS = {1280: 2400, 400: 3000}  # width: how much of the page a screenshot holds
SLOWEST_SECONDS = 20
SAMPLES = {"modelled": (7, 48), "measured": (2, 16), "mixed": (4, 16), "one": (1, 3), "empty": (0, 0), "hostile": (2, 16), "large": (48, 60)}
SEARCH = ["--dtype", "bf16", "--heads", "8", "--kv-heads", "2", "--head-dim", "64", "--causal", "bottom-right", "--seqlen", "128,256",
          "--device", "sim:a100", "--trials", "8", "--margin", "0"]
CHECKS = pathlib.Path(__file__).with_name("checks.js").read_text()


def faults(page, path, width, scheme, screenshot=None):
    """Sentences that say what is wrong with a page at one size; and how long it took to open."""
    seconds = page.open(path, width, 900, scheme)
    if screenshot:
        page.screenshot(screenshot, width, WIDTHS[width])
    found = page.evaluate(CHECKS)
    found += [f"on the console: {text}" for text in page.console]
    address = pathlib.Path(path).resolve().as_uri()
    found += [f"asks for {url[:100]}" for url in page.requests if url != address and not url.startswith("data:")]
    if page.evaluate("innerWidth") != width:
        found.append(f"the window is not {width} pixels wide")
    if seconds > SLOWEST_SECONDS:
        found.append(f"took {seconds:.1f} s to open")
    return found, seconds


def linksOpenDetails(page, path):
    """Sentences about links to parts of the page that stay closed when they are followed."""
    page.open(path, 1280, 900, "light")
    return page.evaluate("""(async () => {
        const found = [];
        for (const link of document.querySelectorAll('a[href^="#"]')) {
          link.click();
          await new Promise((done) => setTimeout(done));
          const target = document.querySelector(link.hash);
          if (!target || !target.checkVisibility()) found.push(`the link to ${link.hash} shows nothing`);
        }
        return found;
      })()""")


def sampleReports(writer, folder):
    for name, (tasks, trials) in SAMPLES.items():
        path = folder / f"{name}.html"
        kind = name if name in ("modelled", "mixed", "empty", "hostile") else "measured"
        subprocess.run([writer, path, str(tasks), str(trials), kind], check=True)
        yield path


def searchReport(tessera, folder):
    path = folder / "search.html"
    environment = {**os.environ, "TESSERA_CACHE_DIR": str(folder / "cache")}
    subprocess.run([tessera, "tune", *SEARCH, "--report", path], check=True, env=environment)
    yield path


def checkReports(chromium, reports, screenshots):
    screenshots.mkdir(parents=True, exist_ok=True)
    failed = False
    with browser.Page(chromium) as page:
        for path in reports:
            found = linksOpenDetails(page, path)
            print(f"{path.stem}: {len(found)} links that do not open what they name")
            for width in WIDTHS:
                for scheme in ("light", "dark"):
                    here, seconds = faults(page, path, width, scheme, screenshots / f"{path.stem}-{width}-{scheme}.png")
                    found += here
                    print(f"{path.stem}, {width} pixels, {scheme}: opened in {seconds:.2f} s, {len(here)} faults")
            for sentence in found[:20]:
                print(f"  {sentence}")
            failed |= bool(found)
    print(f"screenshots: {screenshots}")
    return 1 if failed else 0


def selfTest(chromium):
    """Each page has one fault, and the sentence that names it must be found; the first has none."""
    plot = '<svg class="plot" aria-label="p" viewBox="0 0 100 100" width="{}"><circle r="3"/>{}</svg>'
    pages = {
        "": "<p>plain</p>" + plot.format(100, '<text x="1" y="20" font-size="13">a</text><text x="50" y="20" font-size="13">b</text>'),
        "pixels wide": '<div style="width: 1500px">x</div>',
        "text of 11.0 pixels": '<p style="font-size: 11px">x</p>',
        "text of 6.5 pixels": plot.format(50, '<text x="1" y="20" font-size="13">a</text>'),
        "contrast of": '<p style="color: #999; background: #fff">x</p>',
        "overlap": plot.format(100, '<text x="1" y="20" font-size="13">aaa</text><text x="5" y="22" font-size="13">b</text>'),
        "is cut off": plot.format(100, '<text x="95" y="20" font-size="13">aaa</text>'),
        "without a mark": '<svg class="plot" aria-label="p" viewBox="0 0 1 1" width="9"></svg>',
        "without a name": '<svg class="plot" viewBox="0 0 1 1" width="9"><circle r="1"/></svg>',
        "on the console: said": "<script>console.log('said')</script>",
        "on the console: Uncaught": "<script>nothing()</script>",
        "asks for": '<img src="nowhere.png">',
    }
    pages["shows nothing"] = '<a href="#a">x</a><details id="a"><summary>s</summary><p id="b">y</p></details><a href="#c">z</a>'
    missed = []
    with tempfile.TemporaryDirectory() as folder, browser.Page(chromium) as page:
        for sentence, body in pages.items():
            path = pathlib.Path(folder) / "page.html"
            path.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{body}</body>")
            found, _ = faults(page, path, 1280, "light")
            found += linksOpenDetails(page, path)
            if sentence and not any(sentence in one for one in found) or not sentence and found:
                missed.append(f"{sentence or 'a sound page'}: found {found or 'nothing'}")
    print("\n".join(missed) or "each planted fault was found")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chromium")
    parser.add_argument("--sample")
    parser.add_argument("--tessera")
    parser.add_argument("--screenshots", type=pathlib.Path)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if not options.chromium:
        print("skipped: no Chromium (Debian package chromium)")
        return 77
    if options.self_test:
        return selfTest(options.chromium)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        reports = sampleReports(options.sample, folder) if options.sample else searchReport(options.tessera, folder)
        return checkReports(options.chromium, reports, options.screenshots)


if __name__ == "__main__":
    sys.exit(main())
