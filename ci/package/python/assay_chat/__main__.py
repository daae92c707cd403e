"""Runs the assay command that comes with this package: ``python -m assay_chat check FILE``."""

import os
import subprocess
import sys

from assay_chat._process import binary


def main() -> None:
    """Hand the command line to the binary. Its exit status is this one's."""
    command = [binary(), *sys.argv[1:]]
    if os.name == "posix":
        os.execv(command[0], command)
    sys.exit(subprocess.call(command))


if __name__ == "__main__":
    main()
