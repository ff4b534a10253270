"""What can go wrong, one type for each kind, and warnings. Each is also the built-in exception that fits it best."""

from __future__ import annotations


class PointillistError(Exception):
    """Anything that goes wrong in pointillist."""


class InputError(PointillistError, ValueError):
    """Events, points or a file that cannot be taken: wrong shape, not a number, no events."""


class OutsideWindowError(InputError):
    """Events where none could have been seen."""


class WindowError(PointillistError, ValueError):
    """A window that is none: empty, overlapping, a border that crosses itself."""


class SettingError(PointillistError, ValueError):
    """A setting out of its range, unknown, or without effect beside others."""


class NumericalError(PointillistError, ArithmeticError):
    """Numbers that do not suffice: a matrix that is not positive definite."""


class FileError(PointillistError, OSError):
    """A file that cannot be read or written."""


class ModelFileError(PointillistError, ValueError):
    """A model or a summary that is damaged, foreign, or of another version."""


class NotFittedError(PointillistError, ValueError, AttributeError):
    """Something is asked of a model that was not fitted yet."""


class MissingDependencyError(PointillistError, ImportError):
    """A package that is not installed; the message names the extra that brings it."""


class InternalError(PointillistError, RuntimeError):
    """A fault in pointillist itself; please report it."""


class PointillistWarning(UserWarning):
    """What the user should know of an answer."""


class NotConvergedWarning(PointillistWarning):
    """There is an answer, but the fit did not converge."""


def not_fitted(name: str) -> Exception:
    """The exception for a model that was not fitted; scikit-learn's too, where that is in use."""
    import sys

    sentence = f"this {name} is not fitted yet; call fit(events) first"
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    if theirs is None:
        return NotFittedError(sentence)
    both = type("NotFittedError", (NotFittedError, theirs), {"__module__": __name__})
    error: Exception = both(sentence)
    return error


def located(error: Exception, where: str) -> Exception:
    """The same kind of exception, which says in which part of many it arose."""
    if isinstance(error, PointillistError):
        said = type(error)(f"{where}: {error}")
        said.__cause__ = error
        return said
    if hasattr(error, "add_note"):
        error.add_note(f"pointillist: {where}")
    return error
