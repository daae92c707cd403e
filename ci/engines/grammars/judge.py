"""The loop of an adapter that judges turns by a grammar.

A turn is bytes. The vocabulary has the 256 bytes and an end token, so that a library judges plain
bytes without a model.
"""

import base64
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import assay_adapter  # noqa: E402


def serve(engine, version, languages):
    """languages: name to a function of a grammar's text that returns a function of a turn, which
    reports whether the grammar takes it."""

    def describe(request):
        return {"engine": engine, "version": version, "grammars": list(languages)}

    def judge(request):
        takes = languages[request["language"]](request["grammar"])
        return {"verdicts": [takes(base64.b64decode(t)) for t in request.get("turns") or []]}

    assay_adapter.serve(describe=describe, judge=judge)
