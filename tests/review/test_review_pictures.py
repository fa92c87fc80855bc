"""Pictures of the page: a large image is decoded once for all its crops, and never two at a time."""

import threading
from concurrent.futures import ThreadPoolExecutor

from segvote.review.pictures import Pictures


class CountedReader:
    """Stands in for `Run.read_image`: counts who is inside, and lets another in if it may come."""

    def __init__(self, read):
        self.read, self.n_reads, self.n_inside, self.most = read, 0, 0, 0
        self.second = threading.Event()

    def __call__(self, bag):
        self.n_reads += 1
        self.n_inside += 1
        self.most = max(self.most, self.n_inside)
        if self.n_inside > 1:
            self.second.set()
        self.second.wait(0.2)
        self.n_inside -= 1
        return self.read(bag)


def test_images_are_decoded_one_at_a_time_and_kept(finished_run, monkeypatch):
    reader = CountedReader(finished_run.read_image)
    monkeypatch.setattr(finished_run, "read_image", reader)
    pictures = Pictures(finished_run)
    with ThreadPoolExecutor(6) as pool:
        crops = list(pool.map(lambda segment: pictures.get_crop(0, segment), range(6)))
        assert len(set(crops)) > 1 and reader.n_reads == 1
        assert len(set(pool.map(pictures.get_image, range(6)))) == 6
    assert reader.most == 1
