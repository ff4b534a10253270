"""Writes the page of the Python API for `./book`: every public name of the package, by kind."""

import inspect

import pointillist
from pointillist import datasets


def kind(thing):
    if inspect.isclass(thing):
        return "Errors and warnings" if issubclass(thing, BaseException) else "Classes"
    return "Functions"


KINDS = ["Classes", "Functions", "Errors and warnings"]
by_kind = {each: [] for each in KINDS}
for name in sorted(pointillist.__all__, key=str.lower):
    thing = getattr(pointillist, name)
    if callable(thing):
        by_kind[kind(thing)].append((f"pointillist.{name}", inspect.isclass(thing)))
    elif not inspect.ismodule(thing) and name != "__version__":
        raise SystemExit(f"pointillist.{name} has no place on the page of the API")
of_datasets = [name for name, thing in inspect.getmembers(datasets, inspect.isfunction) if thing.__module__ == datasets.__name__]
by_kind["Functions"] += [(f"pointillist.datasets.{name}", False) for name in of_datasets if not name.startswith("_")]

print("# Python API\n\nEvery public name of the package. [The page on Python](docs/python.md) shows how they go together.\n")
for each in KINDS:
    print(f"## {each}\n")
    for name, is_class in by_kind[each]:
        directive = "autoclass" if is_class else "autofunction"
        print(f"### {name.removeprefix('pointillist.')}\n\n```{{eval-rst}}\n.. {directive}:: {name}\n```\n")
