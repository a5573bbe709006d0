"""The packages that only importing needs: loaded when they are, and named where they are missing."""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from types import ModuleType

from npuflow.errors import InputError, with_hint


def load_package(name: str, purpose: str) -> ModuleType:
    """A package of an optional extra of the same name; raises InputError where it isn't installed."""
    try:
        with quietly():
            return importlib.import_module(name)
    except ImportError as error:
        what = f"{purpose} needs the package '{name}', which cannot be imported: {error}"
        raise InputError(with_hint(what, f"pip install 'npuflow[{name}]'")) from error


def loaded_torch() -> ModuleType:
    """PyTorch, for what is done with a program of its own."""
    return load_package("torch", "reading an exported program")


@contextmanager
def quietly() -> Iterator[None]:
    """What these packages warn of, log and print is about themselves; what stops them, they raise."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def first_words(error: BaseException) -> str:
    """An exception's type and the first line of what it says, which may go on for pages."""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
