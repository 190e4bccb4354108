from pathlib import Path

import numpy as np

import medebench as mb


class Half:
    summary = "stops half way"
    sees = ("roi",)
    control = False

    class Settings(mb.Settings):
        strength: int = 40

    def __init__(self, settings):
        self.settings = settings

    def edit(self, request):
        number = int(request.case.case.id)
        if number > int(Path(__file__).with_name("upto").read_text()):
            raise mb.NotTried("no time left")
        if number == 2:
            raise mb.Refused("this one is too hard", {"said": "no"})
        picture = request.case.previous.copy()
        if request.case.roi is not None:
            picture[request.case.roi] //= 2
        picture[:4] += np.uint8(self.settings.strength // 4)
        if number > 1:
            return mb.Edit(picture, {"number": number})
        looked = np.zeros(picture.shape[:2], np.float32)
        looked[8:20, 10:30] = 1.0
        return mb.Edit(picture, {"number": number}, attention=looked)
