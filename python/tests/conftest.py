"""What tests share: the command, beside which the package is held."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _find() -> str | None:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = target / "release" / "pointillist"
    return os.environ.get("POINTILLIST_COMMAND") or (str(built) if built.is_file() else shutil.which("pointillist"))


@pytest.fixture(scope="session")
def command() -> Callable[..., str]:
    """Runs the command and gives what it prints; warnings go elsewhere."""
    path = _find()
    if path is None:
        pytest.skip("the command is not built; build it with cargo build --release")

    def run(*arguments: object) -> str:
        line = [path, *map(str, arguments)]
        done = subprocess.run(line, capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    return run
