"""One page in headless Chromium, driven over the DevTools pipe: no port, no driver program, nothing but Python's library."""

import base64
import json
import os
import pathlib
import select
import signal
import subprocess
import tempfile
import time


class Page:
    """A context manager. What the page says and asks for is kept in `console` and `requests`."""

    def __init__(self, chromium):
        self.chromium, self.console, self.requests = chromium, [], []
        self.lastId, self.buffer, self.session, self.loaded = 0, b"", None, False

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        browserReads, self.commands = os.pipe()
        self.answers, browserWrites = os.pipe()
        options = ["--headless", "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}", "--no-first-run", "--disable-gpu",
                   "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
                   "--force-device-scale-factor=1"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # Chromium refuses to run as root with it
        # The pipe is descriptors 3 and 4 by definition.
        shell = ["bash", "-c", f'exec "$0" "$@" 3<&{browserReads} 4>&{browserWrites}']
        self.log = open(os.path.join(self.folder.name, "stderr"), "w+")
        self.process = subprocess.Popen([*shell, self.chromium, *options, "about:blank"], pass_fds=(browserReads, browserWrites),
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True,
                                        env={**os.environ, "HOME": self.folder.name})
        os.close(browserReads)
        os.close(browserWrites)
        try:
            targets = self.call("Target.getTargets")["targetInfos"]
            page = next(target["targetId"] for target in targets if target["type"] == "page")
            self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        self.log.close()
        self.folder.cleanup()

    def receive(self, deadline):
        """The next message of the browser."""
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.answers, 1 << 20) if ready else b""
            if not data:
                self.log.seek(0)
                raise RuntimeError(f"{self.chromium} {'ended' if ready else 'does not answer'}: {self.log.read()[-2000:]}")
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def handle(self, event):
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.consoleAPICalled":
                self.console.append(" ".join(str(argument.get("value", argument.get("description"))) for argument in parameters["args"]))
            case "Runtime.exceptionThrown":
                self.console.append(parameters["exceptionDetails"]["text"])
            case "Log.entryAdded":
                self.console.append(parameters["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Page.loadEventFired":
                self.loaded = True

    def call(self, method, seconds=60, **parameters):
        """Sends one command and returns its result; RuntimeError with the browser's words where it fails."""
        self.lastId += 1
        message = {"id": self.lastId, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + seconds
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.lastId:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.handle(answer)

    def open(self, path, width, height, scheme, seconds=60):
        """Loads a file at a size in CSS pixels, light or dark, and returns how long it took."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.console, self.requests, self.loaded = [], [], False
        began = time.monotonic()
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        while not self.loaded:
            self.handle(self.receive(began + seconds))
        return time.monotonic() - began

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "the expression failed"))
        return answer["result"].get("value")

    def screenshot(self, path, width, height):
        """The top of the page, as far down as `height`."""
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))
