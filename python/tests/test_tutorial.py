"""The tutorial is true: its blocks run one after another, and print what stands below them."""

from __future__ import annotations

import contextlib
import io
import os
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pointillist as pt

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python.md"


def blocks(text: str) -> Iterator[tuple[str, int, str]]:
    """What a fenced block is written in, its first line, and its text."""
    for found in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield found.group(1), text[: found.start()].count("\n") + 2, found.group(2)


def run(code: str, line: int, names: dict[str, Any]) -> str:
    """What a block prints; a fault has the line of the page."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile("\n" * (line - 1) + code, str(PAGE), "exec"), names)
    # Tables of pandas have spaces at the ends of lines, which a page should not.
    return "".join(f"{line.rstrip()}\n" for line in said.getvalue().splitlines())


def test_the_tutorial_is_true(command: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    names: dict[str, Any] = {}
    printed, wrong, updated = "", [], text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Two of the explosions have one date, which is so.
        warnings.filterwarnings("ignore", "191 events are at 190 distinct places", pt.PointillistWarning)
        for language, line, body in blocks(text):
            if language == "python":
                assert not printed, f"line {line}: what the block before prints is not shown"
                printed = run(body, line, names)
            elif language == "sh":
                command(*body.split()[1:])
            elif language == "text":
                if printed != body:
                    wrong.append(f"line {line} shows\n{body}but it prints\n{printed}")
                    updated = updated.replace(f"```text\n{body}```", f"```text\n{printed}```", 1)
                printed = ""
    assert not printed, "what the last block prints is not shown"
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(updated)
    assert not wrong, "\n".join(wrong)
    assert len(list(tmp_path.glob("*.png"))) == 7


def test_the_tutorial_begins_with_ten_lines() -> None:
    first = next(body for language, _, body in blocks(PAGE.read_text()) if language == "python")
    assert len([line for line in first.splitlines() if line.strip()]) <= 10


def test_blocks_are_found() -> None:
    assert list(blocks("a\n```python\nx = 1\n```\n```sh elsewhere\nls\n```\n")) == [("python", 3, "x = 1\n"), ("sh elsewhere", 6, "ls\n")]
    names: dict[str, Any] = {}
    assert run("x = 2\nprint(x)", 3, names) == "2\n" and names["x"] == 2
