"""The report in a real browser: it renders, its figures have their points, it fits narrow and wide screens, light and
dark, and it asks nobody for anything. Usage: report_test.py FOLDER, where quick_test.py has left it."""

import csv
import re
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parent))
from browser import Browser  # noqa: E402

FOLDER = Path(sys.argv.pop()) if len(sys.argv) > 1 else None
SCREENS = [(400, False), (400, True), (1400, False), (1400, True)]

# What the page shows of each figure: markers that can be seen, and claimed points.
FIGURES = """[...document.querySelectorAll('figure')].map(f => ({
  id: f.id, experiment: f.dataset.experiment, metric: f.dataset.metric, series: f.dataset.series.split(' '),
  wanted: Number(f.dataset.claimed), claimed: f.querySelectorAll('svg.plot .claim').length,
  title: f.querySelector('svg.plot > title')?.textContent, words: f.querySelector('svg.plot > desc')?.textContent,
  points: [...f.querySelectorAll('svg.plot .pt')].filter(p => {
    const box = p.getBoundingClientRect(), all = f.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && box.left >= all.left && box.right <= all.right && box.top >= all.top &&
      box.bottom <= all.bottom;
  }).length}))"""

# Text that is too faint: the contrast of each kind of text with what is behind it (WCAG AA asks for 4.5).
FAINT = """(() => {
  const rgb = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => rgb(c).slice(0, 3).map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = e => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor; if ((rgb(c)[3] ?? 1) > 0) return c; } return 'rgb(255,255,255)'; };
  const kinds = ['h1', 'h2', '.what', '.quiet', '.verdict', '.tag', '.note', 'caption', 'thead th', '.value', 'a',
                 '.legend li', 'svg .tick', 'svg .name', 'svg .said', '.counts dt'];
  return kinds.flatMap(s => [...document.querySelectorAll(s)].map(e => {
    const style = getComputedStyle(e), ink = light(e.ownerSVGElement ? style.fill : style.color);
    const paper = light(behind(e));
    const contrast = (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
    return contrast < 4.5 ? s + ' ' + contrast.toFixed(2) : null;
  })).filter((f, i, all) => f && all.indexOf(f) === i);
})()"""

# Words that lie on other words or on points, or stick out of a figure.
CLASHES = """[...document.querySelectorAll('svg.plot')].flatMap(svg => {
  const boxes = kinds => [...svg.querySelectorAll(kinds)].map(t => [t.textContent || t.getAttribute('class'),
    t.getBoundingClientRect()]);
  const words = boxes('.tick, .name'), said = boxes('.said'), points = boxes('.pt:not(.cell), .claim:not(.bars)');
  const room = svg.closest('figure').getBoundingClientRect();
  const out = words.filter(([, b]) => b.left < room.left || b.right > room.right).map(([t]) => t + ' sticks out');
  for (let i = 0; i < words.length; ++i) for (let j = i + 1; j < words.length; ++j) {
    const [a, b] = [words[i][1], words[j][1]];
    if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
      out.push(words[i][0] + ' lies on ' + words[j][0]);
  }
  for (const [text, a] of said) for (const [other, b] of [...words, ...points, ...said]) {
    if (other !== text && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
      out.push(text + ' covers ' + other);
  }
  return out.map(o => svg.closest('figure').id + ': ' + o);
})"""


def measured(points):
    """How many points each (experiment, series, metric) has, from the CSV."""
    where = {}
    with open(points, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["metric"]:
                key = (row["experiment"], row["series"], row["metric"])
                where.setdefault(key, set()).add(tuple(v for k, v in row.items() if k not in ("seed", "value")))
    return {key: len(points) for key, points in where.items()}


def faults(browser, page, points, width, dark):
    """All that is wrong with the page on such a screen."""
    browser.open(page.resolve().as_uri(), width, dark=dark)
    found = [f"console: {c}" for c in browser.complaints()]
    found += [f"asks for {r}" for r in browser.requests() if not r.startswith(("file:", "data:"))]
    across = browser.value("document.documentElement.scrollWidth")
    if across > width:
        found.append(f"is {across} pixels wide")
    figures, counts = browser.value(FIGURES), measured(points)
    if not figures:
        found.append("no figures")
    for figure in figures:
        wanted = sum(counts.get((figure["experiment"], s, figure["metric"]), 0) for s in figure["series"])
        if figure["points"] != wanted or wanted == 0:
            found.append(f"{figure['id']} shows {figure['points']} of {wanted} points")
        if figure["claimed"] != figure["wanted"]:
            found.append(f"{figure['id']} shows {figure['claimed']} of {figure['wanted']} claimed points")
        if not figure["title"] or not figure["words"]:
            found.append(f"{figure['id']} has no words for those who cannot see it")
    found += [f"too faint: {f}" for f in browser.value(FAINT)]
    found += browser.value(CLASHES)
    heads = browser.value("[...document.querySelectorAll('table')].filter(t => !t.querySelector('th[scope=col]') || "
                          "!t.caption).length")
    if heads:
        found.append(f"{heads} tables without heads or captions")
    background = browser.value("getComputedStyle(document.body).backgroundColor")
    if (sum(map(float, re.findall(r"[\d.]+", background)[:3])) < 384) != dark:
        found.append(f"is not {'dark' if dark else 'light'}: {background}")
    return found


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.page, cls.points = FOLDER / "index.html", FOLDER / "points.csv"

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def test_it_is_well_on_every_screen(self):
        for width, dark in SCREENS:
            with self.subTest(width=width, dark=dark):
                self.assertEqual(faults(self.browser, self.page, self.points, width, dark), [])
                self.browser.screenshot(FOLDER / f"screen-{width}-{'dark' if dark else 'light'}.png")

    def test_every_verdict_is_on_it(self):
        self.browser.open(self.page.resolve().as_uri(), 1400)
        shown = self.browser.value("[...document.querySelectorAll('tr[data-verdict]')].map(r => r.dataset.verdict)")
        counted = self.browser.value("[...document.querySelectorAll('.counts dd')].map(d => Number(d.textContent))")
        self.assertGreater(len(shown), 20)
        self.assertEqual(counted[:3], [shown.count(v) for v in ("met", "missed", "calibrated")])
        self.assertEqual(counted[3:], [self.browser.value(
            "[...document.querySelectorAll('p[id^=claim-]')].filter(p => p.textContent.includes('absent: ')).length")])

    def test_a_link_to_a_profile_opens_it(self):
        self.browser.open(self.page.resolve().as_uri(), 1400)
        self.browser.value("document.querySelector('a[href=\"#profile-srnic\"]').click()")
        self.browser.value("new Promise(r => setTimeout(r, 50))")
        self.assertTrue(self.browser.value("document.getElementById('profile-srnic').open"))

    def test_the_pointer_is_told_the_values(self):
        self.browser.open(self.page.resolve().as_uri(), 1400)
        said = self.browser.value("""(() => {
          const point = document.querySelector('svg.plot .pt'), box = point.getBoundingClientRect();
          point.dispatchEvent(new PointerEvent('pointermove',
            {bubbles: true, clientX: box.left + 2, clientY: box.top + 2}));
          const hover = document.querySelector('.hover');
          return [hover.hidden, hover.textContent, point.getAttribute('aria-label')];
        })()""")
        self.assertEqual(said[0], False)
        self.assertRegex(said[1], r"^.+: [\d.]+.* at [\d.]+")
        self.assertEqual(said[1], said[2])

    def test_each_figure_is_a_file(self):
        self.browser.open(self.page.resolve().as_uri(), 1400)
        for figure in self.browser.value(FIGURES):
            with self.subTest(figure=figure["id"]):
                root = ElementTree.parse(FOLDER / "figures" / f"{figure['id']}.svg").getroot()
                points = [e for e in root.iter() if e.get("class", "").split()[:1] == ["pt"]]
                self.assertEqual(len(points), figure["points"])
                with open(FOLDER / "figures" / f"{figure['id']}.csv", encoding="utf-8", newline="") as file:
                    rows = [r for r in csv.reader(file) if not r[0].startswith(("claimed: ", "paper: "))]
                self.assertEqual(len(rows), 1 + figure["points"])

    def broken(self, old, new, says):
        """The page with something wrong: is it seen?"""
        text = self.page.read_text(encoding="utf-8")
        self.assertRegex(text, old)
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "index.html"
            page.write_text(re.sub(old, lambda _: new, text, count=1), encoding="utf-8")
            found = faults(self.browser, page, self.points, 400, False)
        self.assertTrue(any(says in f for f in found), found)

    def test_a_missing_point_is_noticed(self):
        self.broken(r'<path class="pt" [^>]*>', '<path class="gone">', "points")
        self.broken(r'<rect class="pt cell" ', '<rect class="gone" ', "points")

    def test_a_point_outside_of_its_figure_is_noticed(self):
        self.broken(r'<path class="pt" d="M[\d.]+ ', '<path class="pt" d="M-900 ', "points")

    def test_a_missing_claim_is_noticed(self):
        self.broken(r'(?<=</g>)<path class="claim" ', '<path class="gone" ', "claimed points")

    def test_what_is_too_wide_is_noticed(self):
        self.broken("<main>", '<main><div style="width: 500px">x</div>', "pixels wide")

    def test_a_request_is_noticed(self):
        self.broken("<main>", '<main><img alt="" src="http://192.0.2.1/x.png">', "asks for http://192.0.2.1")

    def test_an_error_in_a_script_is_noticed(self):
        self.broken("<script>", "<script>nobody();", "console")


if __name__ == "__main__":
    unittest.main()
