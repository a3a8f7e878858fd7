"""A headless Chromium: what it makes of a page, and a picture of it."""

import html
import re
import subprocess

BROWSER = "chromium"
SECONDS_MAX = 120


class Browser:
    """Each call is a browser of its own, with a profile in the given folder."""

    def __init__(self, folder):
        self.folder = folder

    def _run(self, page, width, height, dark, *options):
        command = [BROWSER, "--headless=old", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={self.folder / 'profile'}", "--enable-logging=stderr"]
        command += [f"--window-size={width},{height}", "--virtual-time-budget=2000"]
        if dark:
            command += ["--blink-settings=preferredColorScheme=0"]
        done = subprocess.run(
            [*command, *options, page.as_uri()],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS_MAX,
        )
        assert done.returncode == 0, done.stderr
        return done

    def picture(self, page, out, width, height, dark=False):
        """Writes a PNG; returns what the page said on its console."""
        done = self._run(page, width, height, dark, f"--screenshot={out}")
        return re.findall(r".*CONSOLE.*", done.stderr)

    def tree(self, page, width, height=1000, dark=False):
        """The document as the browser understood it, and its console."""
        done = self._run(page, width, height, dark, "--dump-dom")
        return done.stdout, re.findall(r".*CONSOLE.*", done.stderr)

    def measure(self, page, width, dark=False):
        """A few numbers of the page laid out in a frame: a window has a least width of its own."""
        frame = self.folder / "frame.html"
        frame.write_text(f"""<!doctype html><meta charset="utf-8">
            <style>:root {{ color-scheme: light dark }}</style>
            <iframe style="width: {width}px; height: 900px; border: 0"
                    srcdoc="{html.escape(page.read_text())}"></iframe>
            <script>addEventListener('load', () => {{
                const inner = document.querySelector('iframe').contentDocument;
                const root = inner.documentElement;
                const style = inner.defaultView.getComputedStyle(inner.body);
                const outside = [...inner.querySelectorAll('body *')].filter(
                    e => !e.closest('.scroll') && !e.closest('svg') &&
                         e.getBoundingClientRect().right > root.clientWidth + 0.5);
                document.documentElement.dataset.measured =
                    [inner.defaultView.innerWidth, root.scrollWidth, outside.length,
                     style.backgroundColor, style.color].join(';');
            }})</script>""")
        tree, _ = self.tree(frame, max(width, 500), dark=dark)
        measured = re.search(r'data-measured="([^"]*)"', tree)[1]
        inner, scroll, outside, paper, ink = measured.split(";")
        return {
            "window": int(inner),
            "content": int(scroll),
            "outside": int(outside),
            "paper": [int(part) for part in re.findall(r"\d+", paper)],
            "ink": [int(part) for part in re.findall(r"\d+", ink)],
        }
