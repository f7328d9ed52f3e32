"""A Kubernetes-compatible API server for tests, with the standard library alone.

    with Keelson(apply=["config/crd"]) as server:
        server.send("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
        server.clock.advance("24h")
"""
import http.client
import json
import os
import secrets
import shlex
import shutil
import ssl
import subprocess
import tempfile
import time
from datetime import datetime, timezone
from typing import Any, Dict, List, Optional, Sequence
from urllib.parse import quote, urlencode, urlsplit

__all__ = ["ApiError", "Clock", "Faults", "Keelson"]

Json = Any


class ApiError(Exception):
    """A response with an error. `status` is that of HTTP, `reason` that of the API, such as `NotFound`."""

    def __init__(self, request: str, status: int, body: Json):
        self.status = status
        self.body = body
        self.reason = body.get("reason", "") if isinstance(body, dict) else ""
        message = body.get("message", "") if isinstance(body, dict) else str(body)[:500]
        super().__init__(f"{request}: {status} {message}")


class Clock:
    """The clock of the server. The time of this process does not change."""

    def __init__(self, server: "Keelson"):
        self._server = server

    def now(self) -> datetime:
        return _time_of(self._server.send("GET", "/keelson/v1/clock"))

    def advance(self, duration: str) -> datetime:
        """Advances it by a duration such as `1h30m`. Whatever is due on the way happens in order and at its time."""
        return self._change({"advance": duration})

    def set(self, to: datetime) -> datetime:
        """Advances it to a time, which needs a time zone."""
        return self._change({"set": to.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")})

    def freeze(self) -> datetime:
        """Stops it, until `resume`; `advance` still moves it."""
        return self._change({"frozen": True})

    def resume(self) -> datetime:
        return self._change({"frozen": False})

    def _change(self, change: Json) -> datetime:
        return _time_of(self._server.send("POST", "/keelson/v1/clock", change, timeout=None))


class Faults:
    """Makes requests fail. docs/testing-controllers.md of Keelson lists what a fault may say."""

    def __init__(self, server: "Keelson"):
        self._server = server

    def add(self, **fault: Json) -> str:
        """Adds a fault, such as `add(verb="update", resource="configmaps", status=409, times=1)`; its id."""
        return self._server.send("POST", "/keelson/v1/faults", fault)["id"]

    def seed(self, seed: int) -> None:
        """Removes all faults, and begins the random numbers of later ones anew."""
        self._server.send("PUT", "/keelson/v1/faults", {"seed": seed, "faults": []})

    def report(self) -> List[Json]:
        """Each fault with the number of requests that it selected (`seen`) and struck (`hits`)."""
        return self._server.send("GET", "/keelson/v1/faults")["faults"]

    def remove(self, fault: str) -> None:
        self._server.send("DELETE", f"/keelson/v1/faults/{quote(fault)}")

    def clear(self) -> None:
        self._server.send("DELETE", "/keelson/v1/faults")


class Keelson:
    """A server in memory on a free port. It ends with `close`, and with this process, however that ends."""

    def __init__(self, flags: Sequence[str] = (), apply: Sequence[str] = (), command: Optional[Sequence[str]] = None):
        """`flags` are those of `keelson serve`, `apply` names manifests. Raises RuntimeError when it cannot start."""
        self._folder = tempfile.mkdtemp(prefix="keelson-")
        self._token = secrets.token_hex(16)
        tokens = os.path.join(self._folder, "tokens.csv")
        with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(f'{self._token},keelson-testing,1,"system:masters"\n')
        own = ["--store=memory", "--secure-port=0", "--output=json", "--exit-with-parent", "--test-endpoints"]
        own += [f"--data-dir={self._folder}", f"--token-auth-file={tokens}", *(f"--apply={path}" for path in apply)]
        self._process = subprocess.Popen([*(command or _command()), "serve", *own, *flags], stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise RuntimeError("keelson did not start; see its messages above")
        ready = json.loads(line)
        #: `https://HOST:PORT`.
        self.url: str = ready["url"]
        #: The file with the kubeconfig of the administrator, for client libraries.
        self.kubeconfig: str = ready["kubeconfig"]
        #: The authority of the server's certificate, in PEM.
        self.ca: str = ready["ca"]
        self.pid: int = ready["pid"]
        self._tls = ssl.create_default_context(cadata=self.ca)
        self.clock = Clock(self)
        self.faults = Faults(self)

    def __enter__(self) -> "Keelson":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate()
        shutil.rmtree(self._folder, ignore_errors=True)

    def send(self, method: str, path: str, body: Json = None, *, query: Optional[Dict[str, Json]] = None,
             content_type: str = "application/json", timeout: Optional[float] = 60) -> Json:
        """The JSON of the response to a request as administrator. Raises ApiError."""
        place = urlsplit(self.url)
        connection = http.client.HTTPSConnection(place.hostname, place.port, timeout=timeout, context=self._tls)
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            target = path + ("?" + urlencode(query) if query else "")
            connection.request(method, target, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            answer = _json_of(response.read().decode())
        finally:
            connection.close()
        if response.status >= 400:
            raise ApiError(f"{method} {path}", response.status, answer)
        return answer

    def reset(self) -> None:
        """Restores the state after the start, manifests of `apply` included. Removes faults, too."""
        self.send("POST", "/keelson/v1/reset")

    def snapshot(self, name: Optional[str] = None) -> str:
        """Keeps the current state in memory; its name, for `restore`."""
        return self.send("POST", "/keelson/v1/snapshots", {} if name is None else {"name": name})["name"]

    def restore(self, name: str) -> None:
        self.send("POST", f"/keelson/v1/snapshots/{quote(name)}/restore")

    def settled(self, timeout_seconds: int = 30) -> None:
        """Waits until the server's own controllers have nothing left to do. Raises ApiError if they still have."""
        self.send("GET", "/keelson/v1/settled", query={"timeoutSeconds": timeout_seconds}, timeout=timeout_seconds + 30)

    def changes(self, after: Optional[str] = None) -> List[Json]:
        """The changes of objects since the start or the last reset, or after a revision."""
        return self.send("GET", "/keelson/v1/changes", query=None if after is None else {"after": after})["changes"]

    def requests(self, **filters: Json) -> List[Json]:
        """What clients have sent since the start or the last reset, such as `requests(userAgent="my-controller", verb="update")`."""
        return self.send("GET", "/keelson/v1/requests", query=filters)["requests"]

    def create_namespace(self) -> str:
        """A namespace of its own for a test."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "test-"}}
        return self.send("POST", "/api/v1/namespaces", body)["metadata"]["name"]

    def wait_for(self, path: str, condition: Any = None, timeout_seconds: float = 30) -> Json:
        """Waits until the object at a path exists, or a function of it returns true; the object."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            try:
                found = self.send("GET", path)
            except ApiError as error:
                if error.status != 404:
                    raise
                found = None
            if found is not None and (condition is None or condition(found)):
                return found
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} did not get there: {json.dumps(found)[:2000]}")
            time.sleep(0.05)


def _command() -> List[str]:
    """The variable KEELSON, or the command on the PATH, or that of npm."""
    named = os.environ.get("KEELSON")
    return shlex.split(named) if named else ["keelson"] if shutil.which("keelson") else ["npx", "keelson"]


def _json_of(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _time_of(clock: Json) -> datetime:
    return datetime.fromisoformat(clock["time"].replace("Z", "+00:00"))
