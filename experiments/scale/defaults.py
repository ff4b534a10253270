"""What fits with defaults take, and what an average costs beside `--average off`: `./bench defaults` (some minutes).

Each command is run several times; printed are the median of the seconds and of the CPU seconds, user and system, of all threads. The machine may be shared: CPU seconds say more."""

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time

# Name, what is simulated (if it is no bundled set), how it is fitted, the seconds asked for (None if none are), runs.
SETS = [
    ("coal", None, "fit coal", 0.04, 11),
    ("PSTH of 15 trials", "--intensity 20+180*exp(-((t-0.3)/0.04)^2) --window 0,1 --columns t --repeats 15", "fit DATA --columns t --window 0,1 --repeats 15", 0.3, 5),
    ("kenya in its border", None, "fit kenya --window kenya --clip", 3.0, 3),
    ("4,000 trees on 1000×500 m", "--intensity 0.008*(1+0.8*sin(x/60)*cos(y/45)) --window 0,1000,0,500", "fit DATA --columns x,y --window 0,1000,0,500", 8.0, 3),
    ("20,000 log lines", "--intensity 0.23*(1+0.8*sin(t/2000)) --window 0,86400 --columns t", "fit DATA --columns t --window 0,86400", 2.0, 3),
    ("100,000 events in a plane", "--intensity 100000*(1+0.7*sin(9*x)*cos(7*y)) --window 0,1,0,1", "fit DATA --columns x,y --window 0,1,0,1", 5.0, 3),
    ("a million events on a line", "--intensity 1000000*(1+0.7*sin(40*t)*cos(7*t)) --window 0,1 --columns t", "fit DATA --columns t --window 0,1", None, 3),
]
AVERAGED = [("coal", "fit coal", 11), ("tweets", "fit tweets", 5), ("kenya in its border", "fit kenya --window kenya --clip", 3)]


def timed(command, runs):
    """Medians of wall and CPU seconds."""
    walls, cpus = [], []
    for _ in range(runs):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        walls.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(walls), statistics.median(cpus)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="target/release/pointillist")
    binary = os.path.abspath(parser.parse_args().binary)
    folder = tempfile.mkdtemp()
    model, data = os.path.join(folder, "m.json"), os.path.join(folder, "data.csv")

    def command(text, *more):
        words = [data if word == "DATA" else word for word in text.split()]
        return [binary, *words, *more]

    print("| a fit with defaults | seconds | CPU seconds | asked |\n|---|---|---|---|")
    for name, simulated, fit, asked, runs in SETS:
        if simulated:
            subprocess.run(command("simulate " + simulated, "--seed", "1", "-o", data), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wall, cpu = timed(command(fit, "--quiet", "-o", model), runs)
        print(f"| {name} | {wall:.3g} | {cpu:.3g} | {'' if asked is None else f'{asked:g}'} |", flush=True)
    print("\n| an average beside `--average off` | CPU seconds | without | ratio |\n|---|---|---|---|")
    for name, fit, runs in AVERAGED:
        _, whole = timed(command(fit, "--quiet", "-o", model), runs)
        _, best = timed(command(fit, "--quiet", "--average", "off", "-o", model), runs)
        print(f"| {name} | {whole:.3g} | {best:.3g} | {whole / best:.2f} |", flush=True)


if __name__ == "__main__":
    main()
