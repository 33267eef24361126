"""Headless Chromium, driven through its debugging pipe: any width, light and dark, and all that it complains about."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

PATIENCE = 60  # seconds for one answer


class Browser:
    def __init__(self):
        program = shutil.which("chromium")
        if program is None:
            raise FileNotFoundError("chromium is not installed: run scripts/bootstrap")
        self.folder = tempfile.mkdtemp(prefix="weft-browser-")
        to_read, self.to = os.pipe()
        self.answers, from_write = os.pipe()

        def arrange():  # Chromium reads 3 and writes 4
            source, target = os.dup(to_read), os.dup(from_write)
            os.dup2(source, 3)
            os.dup2(target, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
             "--disable-dev-shm-usage", "--disable-background-networking", "--hide-scrollbars",
             f"--user-data-dir={self.folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=arrange,
            close_fds=False, start_new_session=True)
        os.close(to_read)
        os.close(from_write)
        self.number, self.rest, self.events = 0, b"", []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # its own group: it has children
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            heard = self.hear()
            if heard.get("id") == self.number:
                if "error" in heard:
                    raise RuntimeError(f"{method}: {heard['error']['message']}")
                return heard["result"]
            self.events.append(heard)

    def hear(self):
        until = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], max(0, until - time.monotonic()))
            chunk = os.read(self.answers, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("chromium says nothing")
            self.rest += chunk
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def open(self, url, width, height=900, dark=False):
        """Loads a page as on a screen of that width."""
        self.events = []
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.ask("Page.navigate", url=url)
        until = time.monotonic() + PATIENCE
        while self.value("document.readyState") != "complete" or self.value("location.href") == "about:blank":
            if time.monotonic() > until:
                raise TimeoutError(f"{url} does not load")
            time.sleep(0.05)

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def complaints(self):
        """What the console says, and what a script threw."""
        said = []
        for event in self.events:
            if event["method"] == "Runtime.exceptionThrown":
                said.append(event["params"]["exceptionDetails"]["text"])
            elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning"):
                said.append(event["params"]["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning"):
                said.append(str(event["params"]["args"]))
        return said

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def screenshot(self, path):
        size = self.value("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], 16000), "scale": 1}
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
