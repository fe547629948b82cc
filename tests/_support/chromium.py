"""Debian's chromium, headless, for tests in a browser."""

import os
import shutil

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = [
    "--disable-background-networking",
    # A name that is looked up at all is not found; the map is drawn without a graphics card.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
]


def launch(play):
    """Start it; nothing but this machine can be reached from it."""
    # Its own sandbox does not run as root.
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return play.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *sandbox])
