import os
from pathlib import Path


class Bright:
    def predict(self, pictures):
        if "ASKED" in os.environ:
            with Path(os.environ["ASKED"]).open("a") as file:
                file.write("x" * len(pictures))
        return [float(one.mean()) / 255 for one in pictures]
