"""A double of the registries of packages, on loopback: `registry.py FOLDER` prints its address.

It serves the files of the folder, and stores what `npm publish` sends below npm/NAME as npm's
registry does: the package's metadata, and the archives, each version once.
"""

import base64
import http.server
import json
import os
import pathlib
import sys


class Registry(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.metadata().is_file():
            self.path += "/metadata.json"
        super().do_GET()

    def do_PUT(self):
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = {"versions": {}}
        if self.metadata().is_file():
            known = json.loads(self.metadata().read_text())
        again = known["versions"].keys() & sent["versions"].keys()
        if not again:
            archives = self.metadata().parent / "-"
            archives.mkdir(parents=True, exist_ok=True)
            for name, file in sent.pop("_attachments").items():
                (archives / name).write_bytes(base64.b64decode(file["data"]))
            sent["versions"].update(known["versions"])
            self.metadata().write_text(json.dumps(sent))
        self.send_response(403 if again else 201)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def metadata(self):
        return pathlib.Path("." + self.path.partition("?")[0], "metadata.json")

    def log_message(self, *_):
        pass


os.chdir(sys.argv[1])
with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
