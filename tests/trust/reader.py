"""A process that reads files one after the other and says of each what came of it; watched from outside.

Lines in: a path as JSON. Lines out: [kind, message, seconds, megabytes], where kind is "read", "refused" (an
`UnreadableImageError`) or "crashed" (anything else).
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from threading import Timer


class Reader:
    """The side of the test. A process that hangs is ended, one that died is started again; both are counted."""

    def __init__(self, time_limit=600):
        self.time_limit, self._process = time_limit, None

    def read(self, path):
        """[kind, message, seconds, megabytes of the whole process so far]."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        self._process.stdin.write(json.dumps(str(path)) + "\n")
        self._process.stdin.flush()
        timer = Timer(self.time_limit, self._process.kill)
        timer.start()
        line = self._process.stdout.readline()
        timer.cancel()
        if line:
            return json.loads(line)
        code = self.close()
        return ["hung" if code == -signal.SIGKILL else "died", f"exit code {code}", 0, 0]

    def close(self):
        if self._process is None:
            return 0
        self._process.stdin.close()
        self._process.stdout.close()
        code = self._process.wait()
        self._process = None
        return code


def serve():
    from segvote.errors import UnreadableImageError
    from segvote.io.images import hash_file, read_image, read_image_size

    for line in sys.stdin:
        path, started = json.loads(line), time.process_time()
        try:
            image = read_image(path)
            read_image_size(path)
            hash_file(path)
            answer = ["read", str(image.shape) if image.dtype == "uint8" and image.ndim == 3 else "no picture"]
        except UnreadableImageError as error:
            answer = ["refused", str(error)]
        except Exception as error:
            answer = ["crashed", f"{type(error).__name__}: {error}"]
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(json.dumps([*answer, time.process_time() - started, megabytes]), flush=True)


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    serve()
