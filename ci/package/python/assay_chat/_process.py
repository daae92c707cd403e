import os
from pathlib import Path


def binary() -> str:
    """Return the path of the assay command: ASSAY in the environment, or the one of this package."""
    named = os.environ.get("ASSAY")
    return named or str(Path(__file__).with_name("assay.exe" if os.name == "nt" else "assay"))
