"""jinja2, set up as Hugging Face transformers does it (ci/test/oracle.py)."""

import functools
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(_here, ".."))
sys.path.insert(0, os.path.join(_here, "..", "..", "test"))

import jinja2  # noqa: E402
import oracle  # noqa: E402
from assay_adapter import serve  # noqa: E402

_environment = oracle.environment()


@functools.lru_cache(maxsize=4)
def compiled(source):
    return _environment.from_string(source)


def describe(_):
    return {"engine": "jinja2", "version": jinja2.__version__, "renders": True}


def render(r):
    return {"text": compiled(r["template"]).render(r["vars"])}


serve(describe=describe, render=render)
