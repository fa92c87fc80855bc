"""Bad and odd image files, made from a seed.

A maker takes a generator of random numbers and returns the end of a file name and its content: bytes, or a function
that makes something else at a path.
"""

import io
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

FORMATS = ("png", "jpg", "webp", "bmp", "tif", "gif")
MAKERS = {}  # name to the maker and whether a reader must refuse the file (None: it may)


@dataclass(frozen=True)
class Exhibit:
    path: Path
    kind: str
    is_bad: bool | None


def maker(is_bad):
    def register(make):
        MAKERS[make.__name__] = make, is_bad
        return make

    return register


def make_corpus(folder, n_files, seed=0):
    """Write `n_files` below `folder`, by every maker in turn."""
    folder.mkdir(parents=True, exist_ok=True)
    exhibits, names = [], list(MAKERS)
    for number in range(n_files):
        kind = names[number % len(names)]
        make, is_bad = MAKERS[kind]
        ending, content = make(np.random.default_rng([seed, number]))
        path = folder / f"{number:04d}-{kind}{ending}"
        path.write_bytes(content) if isinstance(content, bytes) else content(path)
        exhibits.append(Exhibit(path, kind, is_bad))
    return exhibits


def pick(rng, choices):
    return choices[rng.integers(len(choices))]


def save(picture, extension, **options):
    buffer = io.BytesIO()
    picture.save(buffer, {"jpg": "JPEG", "tif": "TIFF"}.get(extension, extension.upper()), **options)
    return buffer.getvalue()


def encode(rng, extension, size=None):
    """Bytes of a small picture: blotches, so that every decoder has something to do."""
    width, height = size or rng.integers(8, 60, 2)
    coarse = Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8))
    return save(coarse.resize((int(width), int(height)), Image.Resampling.BICUBIC), extension)


def encode_any(rng):
    extension = pick(rng, FORMATS)
    return f".{extension}", np.frombuffer(encode(rng, extension), np.uint8).copy()


# Damage.


@maker(True)
def truncated(rng):
    """Without the last bytes, which in some formats hold nothing, and some before."""
    ending, data = encode_any(rng)
    return ending, data[: int(rng.uniform(0.01, 0.8) * len(data))].tobytes()


@maker(None)
def flipped_bits(rng):
    ending, data = encode_any(rng)
    places = rng.integers(0, len(data), rng.integers(1, 20))
    data[places] ^= np.uint8(1) << rng.integers(0, 8, len(places), dtype=np.uint8)
    return ending, data.tobytes()


@maker(True)
def noise(rng):
    starts = (b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"II*\0", b"GIF89a", b"BM", b"RIFF \0\0\0WEBPVP8 ")
    return f".{pick(rng, FORMATS)}", pick(rng, starts) + rng.bytes(int(rng.integers(1, 3000)))


@maker(False)
def wrong_extension(rng):
    """A whole picture under another format's name is still a picture."""
    return f".{pick(rng, FORMATS)}", encode_any(rng)[1].tobytes()


# Sizes.


def make_png(width, height, n_rows):
    """A PNG of one bit per pixel that promises `height` rows and holds `n_rows`."""
    data = zlib.compress(bytes(1 + (width + 7) // 8) * n_rows, 9)
    chunks = {b"IHDR": struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0), b"IDAT": data, b"IEND": b""}
    packed = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks.items()
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


@maker(True)
def giant(rng):
    """20,000 x 20,000 pixels in a small file: black, one bit each."""
    return ".png", make_png(20_000, 20_000, 50)


@maker(True)
def png_bomb(rng):
    side = int(rng.integers(30_000, 2**31 - 1))
    return ".png", make_png(side, side, 0)


@maker(True)
def gif_bomb(rng):
    """A screen of 65,535 x 65,535 around a picture of one pixel."""
    screen = struct.pack("<6sHHBBB", b"GIF89a", 65_535, 65_535, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    return ".gif", screen + b",\0\0\0\0\1\0\1\0\0" + b"\2\2D\1\0;"


@maker(None)
def tiff_bomb(rng):
    """Has 60,000 channels, or a strip of 4 GB, or is its own next page."""
    data = bytearray(encode(rng, "tif"))
    (start,) = struct.unpack_from("<I", data, 4)
    (n_entries,) = struct.unpack_from("<H", data, start)
    for place in range(start + 2, start + 2 + 12 * n_entries, 12):
        if struct.unpack_from("<H", data, place)[0] in (256, 257, 258, 277, 279, 273) and rng.random() < 0.5:
            struct.pack_into("<I", data, place + 8, int(rng.choice([0, 60_000, 2**31, 2**32 - 1])))
    struct.pack_into("<I", data, start + 2 + 12 * n_entries, start)
    return ".tif", bytes(data)


@maker(False)
def hostile_exif(rng):
    """Orientation 0, 9, 65535 or text, offsets outside, a directory that is its own next."""
    kind, count, value = rng.choice([2, 3, 4, 12, 99]), rng.choice([0, 1, 2**31]), pick(rng, (0, 9, 255, 65_535))
    entry = struct.pack("<HHII", 0x0112, int(kind), int(count), value)
    following = struct.pack("<I", int(rng.choice([0, 8, 2**32 - 1])))
    exif = b"Exif\0\0II*\0" + struct.pack("<IH", 8, int(rng.choice([1, 1, 65_535]))) + entry + following
    extension = pick(rng, ("jpg", "png", "webp"))
    return f".{extension}", save(Image.new("RGB", (20, 10), "teal"), extension, exif=exif)


# Things that are no files, and odd names.


@maker(True)
def link(rng):
    """To itself, to nothing, to endless zeros."""
    targets = ("/nonexistent/\N{SNOWMAN}.jpg", "/dev/zero", "/dev/urandom", "/dev/null", None)
    target = pick(rng, targets)
    return ".png", lambda path: path.symlink_to(target or path.name)


@maker(True)
def pipe(rng):
    return ".png", os.mkfifo


@maker(True)
def folder(rng):
    return ".png", Path.mkdir


@maker(False)
def odd_name(rng):
    names = ("new\nline", "esc\x1b[31mred", "tab\tr\r", "quote'\"`$(id)", "bidi\u202egnp", "\udcff byte", "n" * 200)
    ending, data = encode_any(rng)
    return f" {pick(rng, names)}{ending}", data.tobytes()
