"""Pickles: plain values come out as ``pickle`` gives them; nothing is ever executed."""

from __future__ import annotations

import json
import math
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.cases.safe_pickle import PickleLimits, load_pickle, parse_pickle
from auscult.errors import InputError, TooLarge

FILE = Path("refs(unc).p")

SCALAR = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=6)
    | st.binary(max_size=6)
)
KEY = SCALAR | st.tuples(SCALAR, SCALAR)
PLAIN = st.recursive(
    SCALAR | st.sets(KEY, max_size=3) | st.frozensets(KEY, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEY, inner, max_size=4)
        | st.tuples(inner)
        | st.tuples(inner, inner, inner, inner)
        | inner.map(lambda part: [part, part])
    ),
    max_leaves=12,
)


def read_data(data: bytes, **limits: int) -> Any:
    return parse_pickle(data, path=FILE, limits=PickleLimits(**limits))


def types(value: Any) -> Any:
    """The types of a value, all the way down: 1, 1.0 and True are equal but not the same."""
    if isinstance(value, dict):
        return dict, [(types(key), types(part)) for key, part in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [types(part) for part in value]
    if isinstance(value, set | frozenset):
        return type(value), sorted(repr(types(part)) for part in value)
    return type(value)


@settings(deadline=None, max_examples=150)
@given(PLAIN, st.integers(0, 5))
def test_plain_values_as_pickle_reads_them(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol)
    value_read = read_data(data)
    assert value_read == pickle.loads(data)  # noqa: S301 - our own bytes
    assert types(value_read) == types(value)


@settings(deadline=None, max_examples=60)
@given(PLAIN)
def test_the_pure_python_pickler_writes_the_same_to_us(value: Any) -> None:
    assert read_data(pickle._dumps(value, 2)) == value  # type: ignore[attr-defined]


def test_numbers_that_compare_oddly() -> None:
    for protocol in range(6):
        assert math.isnan(read_data(pickle.dumps(math.nan, protocol)))
        assert math.copysign(1, read_data(pickle.dumps(-0.0, protocol))) == -1
        assert read_data(pickle.dumps([math.inf, 10**400], protocol)) == [math.inf, 10**400]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        # as cPickle and pickle of Python 2.7 write them
        (b"(dp1\nS'sent'\np2\nS'the left man'\np3\nsS'id'\np4\nL12L\nsS'n'\nI01\ns.",
         {"sent": "the left man", "id": 12, "n": True}),
        (b"S'it\\'s \\xc3\\xa9 \\\\ \\n'\np0\n.", "it's \u00e9 \\ \n"),
        (b"S'\\xe9'\n.", "\u00e9"),
        (b"V\\u4f60 caf\xe9\n.", "\u4f60 caf\u00e9"),
        (b"\x80\x02]q\x01(U\x02hiq\x02h\x02T\x03\x00\x00\x00abcX\x01\x00\x00\x00zK\x05M\x00\x01J\xff\xff\xff\xff\x8a\x01\x02\x88\x89Ne.",
         ["hi", "hi", "abc", "z", 5, 256, -1, 2, True, False, None]),
        (b"(lp0\nI1\naF0.5\na(I1\nI2\ntp1\na.", [1, 0.5, (1, 2)]),
        (b"\x80\x02c__builtin__\nset\nq\x00]q\x01(K\x01K\x02e\x85q\x02Rq\x03.", {1, 2}),
    ],
)  # fmt: skip
def test_what_python_2_wrote(data: bytes, value: Any) -> None:
    assert read_data(data) == value
    assert types(read_data(data)) == types(value)


class Calls:
    """Pickles as a call of a function that must never run."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


RAN: list[str] = []


def has_run(*_: Any) -> str:
    RAN.append("ran")
    return "ran"


def hostile() -> dict[str, bytes]:
    import os

    hostile_data = {f"reduce {p}": pickle.dumps(Calls(has_run, "x"), p) for p in range(6)}
    hostile_data |= {f"system {p}": pickle.dumps({"refs": [Calls(os.system, "touch /tmp/x")]}, p) for p in range(6)}
    hostile_data |= {f"instance {p}": pickle.dumps(PickleLimits, p) for p in range(6)}
    hostile_data |= {f"object {p}": pickle.dumps(PickleLimits(), p) for p in range(2, 6)}
    return hostile_data | {
        "global": b"cos\nsystem\n.",
        "global in a list": b"(lc__builtin__\nset\na.",
        "global in a dict": b"(dS'a'\nc__builtin__\nset\ns.",
        "set of eval": b"c__builtin__\nset\n(cbuiltins\neval\nS'1'\ntR.",
        "set as a callable": b"c__builtin__\nset\n(S'abc'\ntR.",
        "encode by another codec": b"c_codecs\nencode\n(S'abc'\nS'zip'\ntR.",
        "inst": b"(S'touch x'\nios\nsystem\n.",
        "obj": b"(cos\nsystem\nS'touch x'\no.",
        "newobj": b"\x80\x02cos\nsystem\nS'x'\n\x85\x81.",
        "newobj_ex": b"\x80\x04cos\nsystem\n)}\x92.",
        "stack_global": b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        "build": b"}}b.",
        "persistent id": b"Pabc\n.",
        "binary persistent id": b"S'abc'\nQ.",
        "extension 1": b"\x80\x02\x82\x01.",
        "extension 2": b"\x80\x02\x83\x01\x00.",
        "extension 4": b"\x80\x02\x84\x01\x00\x00\x00.",
        "out of band": b"\x80\x05\x97.",
        "bytearray": pickle.dumps(bytearray(b"x"), 5),
        "protocol 6": b"\x80\x06N.",
        "not a pickle": b"hello",
        "json": b'{"refs": []}',
        "empty stack": b".",
        "two values": b"NN.",
        "no end": b"N",
        "open mark": b"(N.",
        "no mark": b"t.",
        "append to a dict": b"}Na.",
        "append to nothing": b"Na.",
        "odd dict": b"(Nd.",
        "set item of a list": b"]NNs.",
        "a list as key": b"}]Ns.",
        "a nested tuple as key": b"}))\x85Ns.",
        "unkept": b"g7\n.",
        "negative memo": b"Ng-1\n.",
        "broken number": b"Ixyz\n.",
        "broken float": b"Fxyz\n.",
        "broken text": b"X\x01\x00\x00\x00\xff.",
        "half a surrogate escape": b"V\\u12\n.",
        "unknown escape": b"S'\\q'\n.",
        "unquoted": b"Sabc\n.",
        "many digits": b"L" + b"9" * 5000 + b"L\n.",
        "negative length": b"T\xff\xff\xff\xff.",
        "length beyond the end": b"\x8e" + struct.pack("<Q", 2**62) + b"x.",
        "long text beyond the end": b"\x8d" + struct.pack("<Q", 2**62) + b"x.",
        "long number beyond the end": b"\x8b" + struct.pack("<i", 2**30) + b"x.",
        "negative long": b"\x8b\xff\xff\xff\xff.",
        "self in list": b"]q\x00h\x00a.",
        "self in a tuple's list": b"(lp0\n(g0\ntp1\na.",
        "self in dict": b"}q\x00Nh\x00s.",
    }  # fmt: skip


def _modules() -> set[str]:
    """What is imported, without the codecs: the first text in an encoding brings its module along."""
    return {name for name in sys.modules if not name.startswith("encodings.")}


@pytest.mark.parametrize("name", hostile())
def test_nothing_hostile_is_executed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("something was executed")

    data = hostile()[name]
    RAN.clear()
    monkeypatch.setattr(os, "system", refuse)
    before = _modules()
    with pytest.raises(InputError) as error:
        read_data(data)
    assert error.value.path == str(FILE)
    assert error.value.expected
    assert not RAN
    assert _modules() == before


def test_the_error_names_file_and_opcode(tmp_path: Path) -> None:
    file = tmp_path / "refs.p"
    file.write_bytes(pickle.dumps([Calls(has_run)], 2))
    with pytest.raises(InputError, match=r"opcode GLOBAL .*names") as error:
        load_pickle(file)
    assert error.value.path == str(file)
    assert "was executed" in error.value.hint


def test_a_crash_of_the_reader_costs_the_reader_only(tmp_path: Path) -> None:
    file = tmp_path / "refs.p"
    file.write_bytes(b"})" + b"\x85" * 500_000 + b"Ns.")  # a key of tuples in tuples: its hash has no bottom
    with pytest.raises(InputError, match="died") as error:
        load_pickle(file)
    assert error.value.path == str(file)
    assert "plain values" in error.value.expected
    assert "was executed" in error.value.hint


def test_bounds_on_time_and_memory(tmp_path: Path) -> None:
    file = tmp_path / "refs.p"
    file.write_bytes(b"(" + b"U\x02ab" * 3_000_000 + b"l.")
    for limits in (PickleLimits(max_s=0.2), PickleLimits(max_memory_mb=100)):
        with pytest.raises(InputError, match="was stopped") as error:
            load_pickle(file, limits=limits)
        assert error.value.path == str(file)


@pytest.mark.parametrize("opener", [b"]", b"(", b")", b"}"])
def test_deep_nesting_is_refused_without_recursion(opener: bytes) -> None:
    depth = 40_000
    closer = {b"]": b"a", b"(": b"t", b")": b"\x85", b"}": b""}[opener]
    if opener == b"}":
        data = b"}" + b"N}" * depth + b"s" * depth + b"."
    elif opener == b")":
        data = b")" + closer * depth + b"."
    else:
        data = opener * depth + closer * (depth - (opener == b"]")) + b"."
    with pytest.raises(TooLarge, match="deep"):
        read_data(data)


def test_shared_parts_are_counted_each_time() -> None:
    lists = b"]q\x00" + b"".join(
        b"](" + b"h" + bytes([n]) + b"h" + bytes([n]) + b"eq" + bytes([n + 1]) for n in range(40)
    )
    with pytest.raises(TooLarge, match="parts"):
        read_data(b"(" + lists + b"t.", max_values=10**6)
    tuples = b")" + b"2\x86" * 60 + b"."  # each holds the last one twice
    with pytest.raises(TooLarge, match="parts"):
        read_data(tuples)


def test_bounds_on_bytes_and_values(tmp_path: Path) -> None:
    data = pickle.dumps(list(range(100)), 2)
    assert read_data(data, max_bytes=len(data), max_values=100) == list(range(100))
    for limits in ({"max_bytes": len(data) - 1}, {"max_values": 99}):
        with pytest.raises(TooLarge):
            read_data(data, **limits)
    file = tmp_path / "refs.p"
    file.write_bytes(data)
    with pytest.raises(TooLarge):
        load_pickle(file, limits=PickleLimits(max_bytes=10))


def test_the_number_that_a_value_is_kept_under_costs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "refs.p"
    file.write_bytes(b"Nr\xff\xff\xff\xff(Np%d\nt." % 10**60)
    with pytest.raises(InputError, match="one value"):
        load_pickle(file, limits=PickleLimits(max_memory_mb=300))
    file.write_bytes(b"(Nr\xff\xff\xff\xffj\xff\xff\xff\xfft.")
    assert load_pickle(file, limits=PickleLimits(max_memory_mb=300)) == (None, None)


def refusal(data: bytes) -> str | None:
    try:
        types(read_data(data))
    except InputError as error:
        return error.path
    return str(FILE)


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=60), PLAIN, st.integers(0, 5), st.integers(0, 400))
def test_any_bytes_are_read_or_refused_by_name(noise: bytes, value: Any, protocol: int, place: int) -> None:
    pickled = pickle.dumps(value, protocol)
    for data in (noise, pickled[:place], pickled[:place] + noise + pickled[place + 1 :]):
        assert refusal(data) == str(FILE)


BOMB = """
import json, resource, sys
from pathlib import Path
from auscult.cases.safe_pickle import load_pickle
from auscult.errors import InputError
told = []
for name in sys.argv[1:]:
    try:
        load_pickle(Path(name))
    except InputError as error:
        told.append(error.message)
found = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([told, found.ru_maxrss / 1024, found.ru_utime]))
"""


@pytest.mark.slow
def test_millions_of_empty_containers_are_refused_before_they_are_made(tmp_path: Path) -> None:
    files = []
    for opcode in (b"}", b"\x8f", b")"):  # a dict, a set and a tuple in one byte each
        files.append(tmp_path / f"{opcode[0]}.p")
        files[-1].write_bytes(b"\x80\x04" + opcode * 18_500_000 + b".")
    command = [sys.executable, "-c", BOMB, *map(str, files)]
    completed = subprocess.run(command, capture_output=True, check=True, text=True)
    messages, peak_mb, seconds = json.loads(completed.stdout)
    assert [message.partition(": ")[2] for message in messages] == ["its containers take more than 176 MB"] * 3
    assert peak_mb < 500
    assert seconds < 15, "processor time of three processes"
