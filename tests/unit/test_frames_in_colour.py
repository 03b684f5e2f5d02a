"""Frames in colour: what becomes of their colours is said, and 16 bits of them are never cut to 8."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from footprint.cli.main import main
from footprint.errors import FootprintError
from tests.unit.test_cli_pictures import deep_colours

JOBS = ("filter median in -o out.npy --size 1", "convolve in box:1 -o out.npy --boundary nearest")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    return tmp_path


def run(line):
    return CliRunner().invoke(main, line.split(), catch_exceptions=False)


def grey_of(colours):
    """Luminance by ITU-R 601-2, as Pillow documents it."""
    return colours @ np.array([0.299, 0.587, 0.114])


@pytest.mark.parametrize("job", JOBS)
def test_a_folder_of_pictures_in_colour_is_said_to_be_filtered_by_luminance(job, folder, rng):
    frames = rng.integers(0, 256, (3, 9, 8, 3)).astype(np.uint8)
    for number, frame in enumerate(frames):
        Image.fromarray(frame).save(f"in/f{number}.png")
    result = run(job)
    assert result.exit_code == 0 and "in: its frames are in colour or transparent; their luminance is filtered" in result.stderr
    assert np.abs(np.load("out.npy") - grey_of(frames)).max() <= 1


@pytest.mark.parametrize(
    ("mode", "suffix", "told"),
    [
        ("L", "png", False),
        ("1", "png", False),
        ("I;16", "png", False),
        ("L", "jpg", False),
        ("LA", "png", True),
        ("RGBA", "png", True),
        ("P", "png", True),
        ("RGB", "bmp", True),
        ("CMYK", "jpg", True),
    ],
)
def test_what_has_no_colours_is_not_warned_of(mode, suffix, told, folder, rng):
    for number in range(2):
        colours = Image.fromarray(rng.integers(0, 256, (9, 8, 3)).astype(np.uint8))
        if mode == "I;16":
            Image.fromarray(rng.integers(0, 60000, (9, 8)).astype(np.uint16)).save(f"in/f{number}.{suffix}")
            continue
        colours.convert(mode).save(f"in/f{number}.{suffix}")
    assert ("in colour" in run(JOBS[0]).stderr) == told


def test_a_palette_of_greys_is_grey(folder, rng):
    Image.fromarray(rng.integers(0, 256, (9, 8)).astype(np.uint8)).convert("P").save("in/f0.png")
    assert Image.open("in/f0.png").mode == "P" and "in colour" not in run(JOBS[0]).stderr


def test_colours_after_a_grey_frame_are_told(folder, rng):
    for number in range(4):
        values = rng.integers(0, 256, (9, 8, 3)).astype(np.uint8)
        Image.fromarray(values[..., 0] if number < 2 else values).save(f"in/f{number}.png")
    with pytest.warns(UserWarning, match=r"in/f2.png: this frame, and perhaps others, are in colour") as told:
        assert run(JOBS[0]).exit_code == 0
    assert len(told) == 1


@pytest.mark.parametrize("job", JOBS)
def test_a_folder_of_colours_of_16_bits_is_refused(job, folder):
    for number in range(3):
        (folder / f"in/f{number}.png").write_bytes(deep_colours())
    with pytest.raises(FootprintError, match=r"in/f0.png: has colours or transparency of 16 bits, which Pillow cuts to 8"):
        run(job)
    assert not (folder / "out.npy").exists()


@pytest.mark.parametrize("coloured", [True, False])
def test_a_gif_in_colour_is_said_to_be_filtered_by_luminance(coloured, folder, rng):
    pytest.importorskip("av", reason="PyAV is not installed: pip install footprint[video]")
    frames = [Image.fromarray(rng.integers(0, 256, (16, 18, 3)[: 2 + coloured]).astype(np.uint8)) for _ in range(3)]
    frames[0].save("a.gif", save_all=True, append_images=frames[1:])
    result = run(JOBS[0].replace("in", "a.gif"))
    assert result.exit_code == 0
    assert ("a.gif: its frames are in colour or transparent; their luminance is filtered" in result.stderr) == coloured
