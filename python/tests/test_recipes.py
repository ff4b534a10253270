"""The recipes of docs/python-cluster.md, as they stand there."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import ROOT

import pointillist as pt

WINDOW = [(0, 50), (0, 20)]


def recipe(heading: str) -> str:
    """The block of code below a heading."""
    page = (ROOT / "docs" / "python-cluster.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]


def run(heading: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(recipe(heading), f"docs/python-cluster.md, {heading}", "exec"), names)
    return names


@pytest.fixture
def quakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Some hundred quakes in three files, in the folder where recipes look for them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(0, 50, 150), "y": 20 * rng.beta(2, 2, 150), "magnitude": rng.exponential(2, 150), "place": "here"})
    (tmp_path / "quakes").mkdir()
    for number in range(3):
        frame[50 * number : 50 * (number + 1)].to_parquet(tmp_path / "quakes" / f"{number}.parquet")
    monkeypatch.chdir(tmp_path)
    return frame


def test_each_recipe_is_a_page_at_most() -> None:
    for heading in ("Events on a Dask cluster", "Many fits", "PySpark", "DuckDB"):
        assert len(recipe(heading).splitlines()) <= 40


def test_dask(quakes: pd.DataFrame) -> None:
    found = run("Events on a Dask cluster")
    assert found["summary"].to_bytes() == pt.Summary.of(quakes[["x", "y"]], WINDOW).to_bytes()
    assert found["post"].event_count == 150


def test_many_fits() -> None:
    found = run("Many fits")
    assert set(found["fitted"]) == {"a", "b", "c"} and isinstance(found["again"]["silent"], pt.InputError)
    assert all(found["again"][name].to_json() == post.to_json() for name, post in found["fitted"].items())


def test_pyspark(quakes: pd.DataFrame) -> None:
    """Without Spark, which needs Java: its function gets record batches, and a frame that does with them what Spark does."""
    names = run("PySpark")
    batches = [pa.RecordBatch.from_pandas(quakes[start : start + 25]) for start in range(0, 150, 25)]
    partitions = [batches[:2], batches[2:5], [], [batches[5], batches[5].slice(0, 0)]]
    made = [list(names["summarised"](iter(partition))) for partition in partitions]
    assert [len(rows) for rows in made] == [1, 1, 0, 1]
    assert all(batch.schema == pa.schema([("summary", pa.binary())]) for rows in made for batch in rows)

    class Frame:
        def select(self, *columns: str) -> Any:
            assert columns == ("x", "y")
            return self

        def mapInArrow(self, function: Any, schema: str) -> Any:
            assert schema == "summary binary"
            rows = [row for partition in partitions for batch in function(iter(partition)) for row in batch.to_pylist()]
            return SimpleNamespace(collect=lambda: [SimpleNamespace(**row) for row in rows])

    summary = names["summary_of"](Frame())
    assert summary.to_bytes() == pt.Summary.of(quakes[["x", "y"]], WINDOW).to_bytes()
    assert pickle.loads(pickle.dumps(summary)).events == 150


def test_duckdb(quakes: pd.DataFrame) -> None:
    found = run("DuckDB")
    strong = quakes[quakes.magnitude > 2]
    assert found["summary"].to_bytes() == pt.Summary.of(strong[["x", "y"]], WINDOW).to_bytes()
    assert found["post"].event_count == len(strong) < 150
