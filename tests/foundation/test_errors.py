"""Errors keep what they say: when printed, when recorded, when sent between processes."""

from __future__ import annotations

import pickle

import pytest

from auscult import errors
from auscult.errors import AuscultError, ErrorRecord
from auscult.outcome import Signature
from auscult.version import VERSION

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AuscultError)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_crosses_processes_whole(kind: type[AuscultError]) -> None:
    error = kind("got this", expected="that", hint="do so", path="a.png", line=3)
    loaded_error = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(loaded_error) is kind
    assert ErrorRecord.of(loaded_error, "read") == ErrorRecord.of(error, "read")


def test_the_text_names_file_line_expectation_and_next_step() -> None:
    text = str(AuscultError("got this", expected="that", hint="do so", path="a.jsonl", line=3))
    assert text == "a.jsonl:3: got this\n  expected: that\n  hint: do so"


def test_a_signature_keeps_its_order_and_ends_with_the_version() -> None:
    assert str(Signature.of(protocol="davis2016", empty=1)) == f"protocol:davis2016|empty:1|version:{VERSION}"
