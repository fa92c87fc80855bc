"""Files that a careful person would throw at a reader of images, made from a seed: the same seed, the same bytes.

`make_corpus` writes a folder of any number of them in turn from all makers below. A maker gets a path without
extension, a generator of random numbers, and answers with the path and whether it must be refused (None: may be).
"""

import io
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

FORMATS = ("png", "jpg", "webp", "bmp", "tif", "gif")


@dataclass(frozen=True)
class Exhibit:
    """One file: what kind it is and whether a reader must refuse it (None: either is right)."""

    path: Path
    kind: str
    is_bad: bool | None


def make_corpus(folder, n_files, seed=0):
    """Write `n_files` below `folder`, every maker in turn; returns the exhibits."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    exhibits = []
    for number in range(n_files):
        name, make = MAKERS[number % len(MAKERS)]
        rng = np.random.default_rng([seed, number])
        path, is_bad = make(folder / f"{number:04d}-{name}", rng)
        exhibits.append(Exhibit(path, name, is_bad))
    return exhibits


def encode(rng, extension, size=None):
    """Bytes of a small picture: blotches, so that every decoder has something to do."""
    width, height = size or rng.integers(8, 60, 2)
    coarse = Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8))
    buffer = io.BytesIO()
    picture = coarse.resize((int(width), int(height)), Image.Resampling.BICUBIC)
    picture.save(buffer, {"jpg": "JPEG", "tif": "TIFF"}.get(extension, extension.upper()))
    return buffer.getvalue()


def choose_format(rng):
    return FORMATS[rng.integers(len(FORMATS))]


def write(path, extension, data, is_bad):
    path = path.with_name(f"{path.name}.{extension}")
    path.write_bytes(data)
    return path, is_bad


# Damage.


def truncate(path, rng):
    extension = choose_format(rng)
    data = encode(rng, extension)
    # The last bytes of some formats say nothing; what is lost before must be noticed.
    return write(path, extension, data[: int(rng.uniform(0.01, 0.8) * len(data))], True)


def flip_bits(path, rng):
    extension = choose_format(rng)
    data = np.frombuffer(encode(rng, extension), np.uint8).copy()
    places = rng.integers(0, len(data), rng.integers(1, 20))
    data[places] ^= np.uint8(1) << rng.integers(0, 8, len(places), dtype=np.uint8)
    return write(path, extension, data.tobytes(), None)


def damage_header(path, rng):
    extension = choose_format(rng)
    data = np.frombuffer(encode(rng, extension), np.uint8).copy()
    places = rng.integers(0, min(64, len(data)), 4)
    data[places] = rng.choice(np.array([0, 1, 127, 128, 254, 255], np.uint8), 4)
    return write(path, extension, data.tobytes(), None)


def splice(path, rng):
    """The first half of one file and the second of another."""
    one, other = encode(rng, choose_format(rng)), encode(rng, choose_format(rng))
    return write(path, choose_format(rng), one[: len(one) // 2] + other[len(other) // 2 :], None)


def repeat_part(path, rng):
    extension = choose_format(rng)
    data = encode(rng, extension)
    start = int(rng.integers(0, len(data) // 2))
    return write(path, extension, data[: start + 40] + data[start : start + 40] * 50 + data[start + 40 :], None)


def make_noise(path, rng):
    return write(path, choose_format(rng), rng.bytes(int(rng.integers(1, 3000))), True)


def start_like_a_picture(path, rng):
    starts = (
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0",
        b"II*\0",
        b"MM\0*",
        b"GIF89a",
        b"BM",
        b"RIFF\x20\0\0\0WEBPVP8 ",
    )
    return write(path, choose_format(rng), starts[rng.integers(len(starts))] + rng.bytes(500), True)


def leave_empty(path, rng):
    return write(path, choose_format(rng), b"", True)


def name_wrongly(path, rng):
    """A whole picture under another format's name is still a picture."""
    return write(path, choose_format(rng), encode(rng, choose_format(rng)), False)


def write_text(path, rng):
    texts = (
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"<html>404</html>",
        b"version https://git-lfs",
        b"%!PS-Adobe",
    )
    return write(path, choose_format(rng), texts[rng.integers(len(texts))] * 9, True)


# Sizes.


def make_dot(path, rng):
    extension = choose_format(rng)
    return write(path, extension, encode(rng, extension, (1, 1)), False)


def make_thread(path, rng):
    """One pixel wide and very long, or the other way."""
    extension = ("png", "bmp", "tif")[rng.integers(3)]
    return write(path, extension, encode(rng, extension, ((1, 20_000), (20_000, 1))[rng.integers(2)]), False)


def make_png(width, height, n_rows, bit_depth=8, kind=2, chunks=()):
    """A PNG that promises `height` rows and holds `n_rows`."""
    n_channels = {0: 1, 2: 3, 6: 4}[kind]
    row = bytes(1 + (width * n_channels * bit_depth + 7) // 8)
    packer = zlib.compressobj(9)
    data = b"".join([packer.compress(row) for _ in range(n_rows)]) + packer.flush()
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, bit_depth, kind, 0, 0, 0)), *chunks, (b"IDAT", data)]
    return b"\x89PNG\r\n\x1a\n" + b"".join(make_chunk(*part) for part in [*parts, (b"IEND", b"")])


def make_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def make_giant(path, rng):
    """20,000 x 20,000 pixels in a small file: black, one bit each."""
    return write(path, "png", make_png(20_000, 20_000, 50, bit_depth=1, kind=0), True)


def make_bomb(path, rng):
    """Unpacks to far more than it is, or promises to."""
    side = int(rng.integers(30_000, 2**31 - 1))
    return write(path, "png", make_png(side, side, 0, bit_depth=1, kind=0), True)


def make_text_bomb(path, rng):
    """A small picture with a compressed comment of 20 MB."""
    comment = b"Comment\0\0" + zlib.compress(bytes(20_000_000), 9)
    return write(path, "png", make_png(16, 16, 16, chunks=[(b"zTXt", comment)]), None)


def make_gif_bomb(path, rng):
    """A screen of 65,535 x 65,535 around a picture of one pixel."""
    screen = struct.pack("<6sHHBBB", b"GIF89a", 65_535, 65_535, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    picture = b",\0\0\0\0\1\0\1\0\0" + b"\2\2D\1\0;"
    return write(path, "gif", screen + picture, True)


def make_tiff_bomb(path, rng):
    """Says it has 60,000 channels, or a strip of 4 GB, or is its own next page."""
    data = bytearray(encode(rng, "tif"))
    (start,) = struct.unpack_from("<I", data, 4)
    (n_entries,) = struct.unpack_from("<H", data, start)
    for number in range(n_entries):
        place = start + 2 + 12 * number
        tag = struct.unpack_from("<H", data, place)[0]
        if tag in (256, 257, 258, 277, 279, 273) and rng.random() < 0.5:
            struct.pack_into("<I", data, place + 8, int(rng.choice([0, 60_000, 2**31, 2**32 - 1])))
    struct.pack_into("<I", data, start + 2 + 12 * n_entries, start)
    return write(path, "tif", bytes(data), None)


# Kinds of pixels.


def make_animation(path, rng):
    frames = [Image.new("RGB", (20, 10), tuple(map(int, rng.integers(0, 256, 3)))) for _ in range(5)]
    extension = ("gif", "webp", "png", "tif")[rng.integers(4)]
    path = path.with_name(f"{path.name}.{extension}")
    frames[0].save(path, save_all=True, append_images=frames[1:])
    return path, False


def make_cmyk(path, rng):
    path = path.with_name(f"{path.name}.jpg")
    Image.new("CMYK", (20, 10), tuple(map(int, rng.integers(0, 256, 4)))).save(path)
    return path, False


def make_deep(path, rng):
    """16 bits, 32-bit and 64-bit floats, with and without NaN, many channels, signed numbers."""
    dtype = (np.uint16, np.int16, np.uint32, np.float16, np.float32, np.float64)[rng.integers(6)]
    shape = ((9, 12), (9, 12, 3), (9, 12, 4))[rng.integers(3)]
    values = (rng.normal(size=shape) * 1000).astype(dtype)
    if values.dtype.kind == "f":
        values[rng.random(shape) < 0.3] = (np.nan, np.inf, -np.inf)[rng.integers(3)]
    path = path.with_name(f"{path.name}.tif")
    tifffile.imwrite(path, values, photometric="rgb" if len(shape) == 3 else "minisblack")
    return path, False


def make_all_nan(path, rng):
    path = path.with_name(f"{path.name}.tif")
    tifffile.imwrite(path, np.full((9, 12), np.nan, (np.float32, np.float64)[rng.integers(2)]))
    return path, False


def make_palette(path, rng):
    """Indices beyond the end of the palette."""
    picture = Image.fromarray(rng.integers(0, 256, (9, 12), dtype=np.uint8), "P")
    picture.putpalette(rng.bytes(3 * int(rng.integers(1, 20))))
    path = path.with_name(f"{path.name}.png")
    picture.save(path)
    return path, None


def make_hostile_exif(path, rng):
    """Orientation 0, 9, 65535 or text, offsets outside, a directory that is its own next."""
    value = (0, 9, 255, 65_535)[rng.integers(4)]
    entry = struct.pack("<HHII", 0x0112, int(rng.choice([2, 3, 4, 12, 99])), int(rng.choice([0, 1, 2**31])), value)
    following = struct.pack("<I", int(rng.choice([0, 8, 2**32 - 1])))
    exif = b"Exif\0\0II*\0" + struct.pack("<IH", 8, int(rng.choice([1, 1, 65_535]))) + entry + following
    extension = ("jpg", "png", "webp")[rng.integers(3)]
    path = path.with_name(f"{path.name}.{extension}")
    Image.new("RGB", (20, 10), "teal").save(path, exif=exif)
    return path, False


# Things that are no files.


def make_loop(path, rng):
    path = path.with_name(f"{path.name}.png")
    path.symlink_to(path.name)
    return path, True


def make_dangling(path, rng):
    path = path.with_name(f"{path.name}.jpg")
    path.symlink_to("/nonexistent/\N{SNOWMAN}.jpg")
    return path, True


def make_device_link(path, rng):
    """Endless zeros, endless noise."""
    path = path.with_name(f"{path.name}.png")
    path.symlink_to(("/dev/zero", "/dev/urandom", "/dev/null")[rng.integers(3)])
    return path, True


def make_pipe(path, rng):
    path = path.with_name(f"{path.name}.png")
    os.mkfifo(path)
    return path, True


def make_folder(path, rng):
    path = path.with_name(f"{path.name}.png")
    path.mkdir()
    return path, True


def make_odd_name(path, rng):
    names = (
        "new\nline",
        "esc\x1b[31mred",
        "tab\tr\r",
        "quote'\"`$(id)",
        "-rf",
        "bidi\u202egnp",
        "\udcff raw byte",
        "n" * 200,
    )
    extension = choose_format(rng)
    path = path.with_name(f"{path.name} {names[rng.integers(len(names))]}")
    bad = bool(rng.integers(2))
    return write(path, extension, b"" if bad else encode(rng, extension), bad)


MAKERS = [
    (make.__name__.removeprefix("make_"), make)
    for make in (
        truncate,
        flip_bits,
        damage_header,
        splice,
        repeat_part,
        make_noise,
        start_like_a_picture,
        leave_empty,
        name_wrongly,
        write_text,
        make_dot,
        make_thread,
        make_giant,
        make_bomb,
        make_text_bomb,
        make_gif_bomb,
        make_tiff_bomb,
        make_animation,
        make_cmyk,
        make_deep,
        make_all_nan,
        make_palette,
        make_hostile_exif,
        make_loop,
        make_dangling,
        make_device_link,
        make_pipe,
        make_folder,
        make_odd_name,
    )
]
