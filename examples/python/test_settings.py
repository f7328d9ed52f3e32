"""A server of its own for a test, with the standard library alone. KEELSON names the command; `npx keelson` unless told."""
import json
import os
import shlex
import ssl
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request


class Keelson:
    """Starts a server in memory, which ends with this process."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        tokens = os.path.join(self.folder.name, "tokens.csv")
        with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write('secret,tester,1,"system:masters"\n')
        flags = ["--store=memory", "--secure-port=0", "--output=json", "--exit-with-parent", "--nodes=0"]
        flags += [f"--data-dir={self.folder.name}", f"--token-auth-file={tokens}"]
        command = shlex.split(os.environ.get("KEELSON", "npx keelson"))
        self.process = subprocess.Popen([*command, "serve", *flags], stdout=subprocess.PIPE, text=True)
        ready = json.loads(self.process.stdout.readline())
        self.url = ready["url"]
        self.tls = ssl.create_default_context(cadata=ready["ca"])

    def send(self, method, path, body=None):
        """Status and JSON of the answer."""
        headers = {"Authorization": "Bearer secret", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self.tls) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def close(self):
        self.process.terminate()
        self.process.communicate()
        self.folder.cleanup()


class SettingsTest(unittest.TestCase):
    maps = "/api/v1/namespaces/default/configmaps"

    @classmethod
    def setUpClass(cls):
        cls.server = Keelson()
        cls.addClassCleanup(cls.server.close)

    def test_a_second_create_conflicts(self):
        body = {"metadata": {"name": "hello"}, "data": {"who": "world"}}
        self.assertEqual(self.server.send("POST", self.maps, body)[0], 201)
        status, answer = self.server.send("POST", self.maps, body)
        self.assertEqual((status, answer["reason"]), (409, "AlreadyExists"))

    def test_a_stale_update_is_refused(self):
        _, stored = self.server.send("POST", self.maps, {"metadata": {"name": "stale"}})
        self.assertEqual(self.server.send("PUT", f"{self.maps}/stale", {**stored, "data": {"v": "1"}})[0], 200)
        status, answer = self.server.send("PUT", f"{self.maps}/stale", {**stored, "data": {"v": "2"}})
        self.assertEqual((status, answer["reason"]), (409, "Conflict"))


if __name__ == "__main__":
    unittest.main()
