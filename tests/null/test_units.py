"""Bytes in and out of words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footprint.units import counted, format_bytes, parse_bytes


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("4GB", 4 * 10**9), ("4GiB", 4 << 30), ("1.5 MB", 1500000), ("512kib", 512 << 10), ("100", 100), (77, 77), ("3g", 3 * 10**9),
     (2.5e9, 2500000000), ("80%", 800), (0.5, 500), (1.0, 1000), (".5K", 500),
     ("0.8", 800), (".5", 500), ("1.0", 1000), ("1", 1)],
)  # fmt: skip
def test_reads(text, wanted):
    assert parse_bytes(text, free=1000) == wanted


@pytest.mark.parametrize(
    "text",
    ["", "GB", "-4GB", "4XB", "0", 0, -3, "0%", "101%", "nan", float("nan"), float("inf"), True, "4 G B", "1e400", "1e9", "0.0"],
)
def test_refuses(text):
    with pytest.raises(ValueError, match="wanted bytes such as"):
        parse_bytes(text, free=1000)


def test_a_share_of_an_unknown_whole_is_refused():
    with pytest.raises(ValueError, match="share of free memory"):
        parse_bytes("50%")


@given(st.integers(0, 1 << 60))
def test_written_sizes_read_back_within_their_digits(n):
    text = format_bytes(n)
    if n:
        assert parse_bytes(text) == pytest.approx(n, rel=6e-3)


@pytest.mark.parametrize(
    ("n", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (4294967296, "4 GiB"), (1073312000000, "1000 GiB")],
)
def test_writes(n, text):
    assert format_bytes(n) == text


@pytest.mark.parametrize(
    ("number", "things", "words"),
    [
        (1, "rows of a slice", "1 row of a slice"),
        ("1", "entries", "1 entry"),
        (1, "slices", "1 slice"),
        (0, "runs", "0 runs"),
        (2, "rows of a slice", "2 rows of a slice"),
        ("1", "s", "1 s"),
    ],
)
def test_one_thing_is_no_plural(number, things, words):
    assert counted(number, things) == words
