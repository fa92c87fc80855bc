import numpy as np
from PIL import Image

from segvote.io import EXPORTS
from segvote.io.exports.base import ExportOptions
from segvote.steps.video.write import add_frame_pictures
from segvote.types import Annotation


def test_frames_of_a_film_are_exported_as_pictures(tmp_path):
    (tmp_path / "film").mkdir()
    for number in range(6):
        Image.new("RGB", (12, 10), (40 * number, 0, 0)).save(tmp_path / f"film/{number:02d}.png")
    frames = [
        Annotation(f"film/{n:05d}.png", 10, 12, properties={"video": "film", "frame": n, "source": tmp_path / "film"})
        for n in (1, 3, 4)
    ]
    EXPORTS["yolo"](add_frame_pictures(frames), tmp_path / "out", ExportOptions(("object",)))
    pictures = sorted((tmp_path / "out/images/train").iterdir())
    assert [path.name for path in pictures] == ["00001.png", "00003.png", "00004.png"]
    assert [np.array(Image.open(path))[0, 0, 0] for path in pictures] == [40, 120, 160]
