#!/usr/bin/env python3
"""pointillist on up to 10^8 events in Parquet files: time, memory and bound of whole commands.

    python3 large.py --binary PATH [--largest 1e8] [--folder DIR] [-o large.json]

Writes the events (those of scale.py on the unit square) to files in a temporary directory, or in --folder, where they stay. Prints a
Markdown table. Needs: pip install numpy pyarrow; 1.7 GB of disk for 10^8 events.
"""

import argparse
import json
import tempfile
from pathlib import Path

from scale import EXPERIMENTS, Truth, run

CHUNK = 10**6
WINDOW = ["--window", "0,1,0,1"]
FITS = {
    "20x20 inducing points": ["--inducing", "20x20"],
    "50x50 inducing points": ["--inducing", "50x50"],
    "200x200 nodes": ["--nodes", "200x200", "--smoothness", "2"],
}


def write(path, count):
    import numpy
    import pyarrow
    import pyarrow.parquet

    truth, chance = Truth(EXPERIMENTS["space"]["bumps"]), numpy.random.default_rng(1)
    schema = pyarrow.schema([("x", pyarrow.float64()), ("y", pyarrow.float64())])
    with pyarrow.parquet.ParquetWriter(path, schema, use_dictionary=False) as file:
        for start in range(0, count, CHUNK):
            points = truth.draw(min(CHUNK, count - start), chance)
            file.write_table(pyarrow.table({"x": points[:, 0], "y": points[:, 1]}, schema=schema))


def text_of(path, target, count):
    """The same events as CSV."""
    import pyarrow.csv
    import pyarrow.parquet

    pyarrow.csv.write_csv(pyarrow.parquet.read_table(path), target)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="pointillist")
    parser.add_argument("--largest", type=lambda text: int(float(text)), default=10**8)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--limit", type=float, default=1200)
    parser.add_argument("--memory", type=float, default=12)
    parser.add_argument("-o", "--output", type=Path, default=Path("large.json"))
    args = parser.parse_args()
    results = []
    print("| events | command | seconds | CPU seconds | peak MB | bound | events a second |\n|---|---|---|---|---|---|---|")

    def row(count, name, command, scratch):
        found = run([args.binary, *command], args, scratch, good=(0, 1))
        said = found.pop("said", {})
        found.update(events=count, command=name, bound=said.get("elbo"), said=said)
        results.append(found)
        args.output.write_text(json.dumps(results, indent=1) + "\n")
        bound = "" if found["bound"] is None else f"{found['bound']:.1f}"
        print(f"| {count:,} | {name} | {found['wall']:.1f} | {found['cpu']:.1f} | {found['megabytes']:.0f} | {bound} "
              f"| {count / found['wall']:.2g} | {found.get('failed', '')}", flush=True)

    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        folder = args.folder or scratch
        for count in (10**6, 10**7, 10**8):
            if count > args.largest:
                break
            events = folder / f"events-{count}.parquet"
            if not events.exists():
                write(events, count)
            summary = scratch / "events.summary"
            row(count, "summarize, Parquet", ["summarize", str(events), *WINDOW, "-o", str(summary), "--json"], scratch)
            if count <= 10**7:
                table = text_of(events, scratch / "events.csv", count)
                row(count, "summarize, CSV", ["summarize", str(table), *WINDOW, "-o", str(summary), "--json"], scratch)
                # One cell: nearly nothing but reading.
                alone = ["summarize", str(table), *WINDOW, "--cells", "1x1", "-o", str(summary), "--json"]
                row(count, "summarize, CSV, one cell", alone, scratch)
                table.unlink()
            for name, options in FITS.items():
                if "50x50" in name and count > 10**6:
                    continue  # it takes as long with more
                row(count, f"fit, {name}", ["fit", str(events), *WINDOW, *options, "--json"], scratch)


if __name__ == "__main__":
    main()
