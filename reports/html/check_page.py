#!/usr/bin/python3
"""Opens reports in a headless Chromium and uses them as a reader would.

usage: check_page.py PAGE...             every page must be in order
       check_page.py --axe PAGE...       axe-core must find nothing against WCAG 2.2 A and AA, in light and dark
       check_page.py --planted PAGE...   STEP-NAME.html carries a mistake that this step must find (axe: --axe's)
       check_page.py --screenshot PNG PAGE

Exit code 77: no browser here (packages chromium, chromium-driver, python3-selenium), or no axe-core for what needs it
(harness/bootstrap test fetches it).
"""
import json
import os
import shutil
import sys

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select
except ImportError:
    print("skipped: the package python3-selenium is missing")
    sys.exit(77)

AXE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/axe/axe_playwright_python/axe.min.js")


def start_browser():
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not browser or not driver:
        print("skipped: no chromium and chromedriver here")
        sys.exit(77)
    options = Options()
    options.binary_location = browser
    arguments = ["--headless=new", "--disable-gpu", "--window-size=1300,1400", "--hide-scrollbars"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")  # Chromium refuses to sandbox for root
    for argument in arguments:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(driver), options=options)


class Page:
    """One page under examination; `problems` collects what is wrong with it."""

    def __init__(self, driver, path):
        self.driver, self.path, self.problems = driver, path, []
        self.url = "file://" + os.path.abspath(path)

    def check(self, fine, what):
        if not fine:
            self.problems.append(what)

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def theme(self, name):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": name}]})

    def frames(self):
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));")

    def column(self, name):
        return self.js("""const at = [...document.querySelectorAll('#results thead th')].findIndex((h) => h.textContent === arguments[0]);
            return [...document.querySelectorAll('#results tbody tr[data-index]')].map((r) => r.children[at].firstChild.textContent.trim());""", name)

    def open(self):
        self.driver.get_log("performance")
        self.driver.get(self.url)
        self.check(self.js("return document.documentElement.dataset.ready") == "yes", "the scripts did not finish")
        return self.js("return performance.getEntriesByType('navigation')[0].domComplete")

    def drawn(self):
        """Every canvas holds a chart that left pixels."""
        states = self.js("""return [...document.querySelectorAll('canvas')].map((c) => {
            if (typeof Chart === 'undefined' || !Chart.getChart(c)) return 'no chart';
            if (!c.width || !c.height) return 'no size';
            const small = new OffscreenCanvas(64, 64).getContext('2d', {willReadFrequently: true});
            small.drawImage(c, 0, 0, 64, 64);
            const pixels = small.getImageData(0, 0, 64, 64).data;
            let inked = 0;
            for (let i = 3; i < pixels.length; i += 4) inked += pixels[i] > 0;
            return inked > 100 ? 'drawn' : 'blank';
        });""")
        self.check(states and all(s == "drawn" for s in states), f"charts: {states}")
        return len(states)

    def quiet(self):
        for entry in self.driver.get_log("browser"):
            self.problems.append("console: " + entry["message"][:200])
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if url.split("#")[0] != self.url and not url.startswith(("data:", "blob:")):
                    self.problems.append("request: " + url[:100])

    def axe(self):
        """axe-core over the page with details open, in both themes."""
        with open(AXE, encoding="utf-8") as file:
            self.js(file.read())
        self.js("""const r = data.results.find((r) => r.explained && r.explained.tree !== null) || data.results[0];
            choose(r); document.querySelectorAll('details').forEach((d) => { d.open = true; });""")
        for name, rules in (("light", None), ("dark", ["color-contrast"])):  # the rest does not depend on colours
            if self.problems:
                return
            self.theme(name)
            found = self.driver.execute_async_script("""const done = arguments[arguments.length - 1];
                axe.run(document, {runOnly: arguments[0] || ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})
                  .then((r) => done([r.passes.length, r.violations.flatMap((v) => v.nodes.map((n) => v.id + ': ' + n.html.slice(0, 120) + ' ' + n.failureSummary.slice(0, 200)))]))
                  .catch((e) => done([0, [String(e)]]));""", rules)
            self.check(found[0] >= (1 if rules else 20), f"axe passed only {found[0]} rules: it did not look at the page")
            self.problems += [f"{name}: {violation}" for violation in found[1]]

    def filters(self):
        everything = self.js("return data.results.length")
        text = self.find("#filter-text")
        word = self.js("return data.results[data.results.length - 1].variant")
        text.send_keys(word)
        variants = self.column("Variant")
        wanted = self.js("return data.results.filter((r) => r.words.includes(arguments[0].toLowerCase())).length", word)
        self.check(0 < len(variants) <= wanted and self.find("#shown").text == f"{wanted:,} of {everything:,} results",
                   f"search for {word!r} shows {self.find('#shown').text}")
        self.find("#clear").click()
        verdict = self.js("return data.results[0].verdict")
        Select(self.find("#filter-verdict")).select_by_value(verdict)
        wanted = self.js("return data.results.filter((r) => r.verdict === arguments[0]).length", verdict)
        self.check(self.find("#shown").text == f"{wanted:,} of {everything:,} results", f"verdict {verdict}: {self.find('#shown').text}")
        self.find("#clear").click()
        self.find("#filter-findings").click()
        wanted = self.js("return data.results.filter((r) => ['fail', 'error', 'vacuous', 'unverified'].includes(r.standing)).length")
        self.check(self.find("#shown").text == f"{wanted:,} of {everything:,} results", f"findings only: {self.find('#shown').text}")
        self.find("#clear").click()
        self.check(self.find("#shown").text == f"{everything:,} of {everything:,} results", "clearing the filters: " + self.find("#shown").text)

    def sorts(self):
        def number(text):
            return {"–": None, "inf": float("inf"), "nan": None}.get(text, text) if text in ("–", "inf", "nan") else float(text)

        heading = self.find("#sort-max_abs")
        heading.send_keys(Keys.ENTER)  # by keyboard
        for descending in (True, False):
            state = self.js("return document.getElementById('sort-max_abs').parentElement.ariaSort")
            self.check(state == ("descending" if descending else "ascending"), f"aria-sort says {state}")
            shown = [number(x) for x in self.column("Max error")]
            figures = [x for x in shown if x is not None]
            self.check(figures == sorted(figures, reverse=descending), f"not sorted: {figures[:8]}")
            self.check(shown[:len(figures)] == figures, "rows without a figure are not last")
            self.driver.switch_to.active_element.send_keys(Keys.ENTER)  # the focus stayed on the heading
        self.find("#sort-variant").click()
        names = self.column("Variant")
        self.check(names == sorted(names), f"variants not sorted: {names[:8]}")

    def pages(self):
        if self.js("return data.results.length <= view.pageSize"):
            return
        first = self.column("Variant"), self.js("return document.querySelector('#results tr[data-index]').dataset.index")
        self.find("#pages button:last-child").click()
        self.check("Page 2 of" in self.find("#pages").text, "the second page does not come")
        self.check(self.js("return document.querySelector('#results tr[data-index]').dataset.index") != first[1], "the same rows on page 2")
        self.find("#pages button:first-child").click()

    def details(self):
        index = self.js("return data.results.findIndex((r) => r.max_abs !== null && r.max_abs !== 'inf')")
        self.js("choose(data.results[arguments[0]])", index)
        button = self.driver.switch_to.active_element
        self.check(button.get_attribute("aria-expanded") == "true", "choosing a result does not open and focus it")
        text = self.find(f"#details-{index}").text
        for word in ("because", "bound", "Reproduce", self.js("return data.results[arguments[0]].reproduce.slice(0, 30)", index)):
            self.check(word in text, f"the details lack {word!r}")
        charts = self.drawn()
        self.check(charts >= 2, f"only {charts} charts with details open")
        if self.js("return data.results[arguments[0]].position.length > 0", index):
            self.check(charts >= 4, f"only {charts} charts of a result with histogram and positions")
        button.send_keys(Keys.SPACE)
        self.check(self.find(f"#open-{index}").get_attribute("aria-expanded") == "false", "the keyboard does not close details")
        self.check(not self.driver.find_elements(By.CSS_SELECTOR, f"#details-{index}"), "closed details stay")

    def text_stays_text(self):
        marks = self.js("""return [window.injected, document.querySelectorAll('#results script, #results b, #results td i:not(.meter i)').length,
            data.results.filter((r) => r.variant.includes('<i>')).length]""")
        self.check(marks[0] is None and marks[1] == 0, f"markup in a record became markup of the page: {marks}")

    def prints(self):
        self.theme("dark")
        self.frames()  # the page has heard of it, so what follows is for print alone
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        self.frames()
        self.check(self.js("return getComputedStyle(document.getElementById('filters')).display") == "none", "filters are printed")
        self.check(self.js("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", "paper is not white")
        inks = self.js("return [...new Set([...charts.keys()].map((c) => Chart.getChart(c).options.scales.x.title.color))]")
        self.check(inks == [self.js("return colour('soft')")], f"charts are printed in a screen's colours: {inks}")
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    def themes(self):
        backs = []
        for name in ("dark", "light"):
            self.theme(name)
            backs.append(self.js("return getComputedStyle(document.body).backgroundColor"))
            self.drawn()
        self.check(backs[0] != backs[1], f"light and dark look the same: {backs}")

    STEPS = ("drawn", "themes", "filters", "sorts", "pages", "details", "text_stays_text", "prints", "quiet")

    def use(self, steps=STEPS):
        ms = self.open()
        for step in (getattr(self, name) for name in steps):
            try:
                step()
            except Exception as error:  # a page too broken to use is a finding, not the end of the check
                self.problems.append(f"{step.__name__}: {type(error).__name__}: {str(error).splitlines()[0][:200]}")
        return ms


def main(arguments):
    if not arguments:
        sys.exit(__doc__.strip())
    driver = start_browser()
    try:
        if arguments[0] == "--screenshot":
            page = Page(driver, arguments[2])
            page.open()
            driver.save_screenshot(arguments[1])
            return 0
        planted, only_axe = arguments[0] == "--planted", arguments[0] == "--axe"
        paths = arguments[planted or only_axe:]
        if (only_axe or any(os.path.basename(path).startswith("axe-") for path in paths)) and not os.path.exists(AXE):
            print("skipped: axe-core is not here (harness/bootstrap test fetches it)")
            return 77
        bad = 0
        for path in paths:
            page = Page(driver, path)
            name = os.path.basename(path)
            ms = page.use([name.split("-")[0]]) if planted else page.use(["axe"]) if only_axe else page.use()
            if planted:
                bad += not page.problems
                print(f"{name}: " + (f"found: {page.problems[0]}" if page.problems else "NOT FOUND"))
            else:
                bad += bool(page.problems)
                print(f"{name}: {page.js('return data.results.length')} results, complete after {ms:.0f} ms, {len(page.problems)} problems")
                for problem in dict.fromkeys(page.problems):
                    print(f"  {problem}")
        return 1 if bad else 0
    finally:
        driver.quit()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
