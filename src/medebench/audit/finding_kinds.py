"""Every kind of finding: how grave it is, what to do, and which scores it spoils in which way."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal, NamedTuple, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]

#: Changes with what is found, so that a stored audit of an earlier version is done again.
AUDIT_VERSION = 3


class Kind(NamedTuple):
    """What all findings of one code have in common."""

    severity: Severity
    label: str
    remedy: str
    #: What the flaw does to the scores, in a sentence, and the metrics it does it to (patterns).
    effect: str
    spoils: tuple[str, ...] = ()

    def touches(self, metric: str) -> bool:
        """Whether scores of this metric suffer from the flaw."""
        return any(fnmatchcase(metric, pattern) for pattern in self.spoils)


#: Distances of the output, or of all outputs, to the reference image.
FRAME = (
    *("ssim", "psnr", "lpips_*", "isim*", "fid_*", "kid_*"),
    *("ssim_medgen", "psnr_medgen", "raddino_*", "mii_*", "medimageinsight_*"),
)
INTENDED = ("edit_completion", "edit_residual", "intended_*", "success")
REFERENCE = (*FRAME, *INTENDED, "ea_*")
ROI = ("cp", "cp_published", "change_*", "lpips_*_roi", *INTENDED, "vq_offline")
PROMPT = ("talign_prompt*", "dalign_prompt*", "edit_score*", "imagereward_prompt", "ea_*")
DESCRIPTION = (
    *("talign_description*", "dalign_description*", "imagereward_description", "ea_*", "vq_*"),
)
ALL = ("*",)
#: Everything that compares a text with the reference answer.
ANSWER = (
    *("choice_*", "gap_*", "key_*", "exact_*", "token_f1*", "bleu*", "rouge*", "cider*"),
    *("bertscore*", "finding*", "report_*", "radgraph_*", "chexbert_*", "ratescore", "green"),
)

_UNUSED = "The case is left out: no metric has a score for it."
_ALONE = "No score is wrong, but cases that share a source count as one: intervals are too narrow."
_NOTHING = "No score suffers."
_ROWS = "Rows of the mask do not lie on those of the image; the region is off by the difference."

KINDS: dict[str, Kind] = {
    # --- records and files ------------------------------------------------------------------
    "bad-record": Kind(
        "error",
        "a record that is not an object",
        "give every case as an object of fields",
        _UNUSED,
        ALL,
    ),
    "missing-field": Kind(
        "error", "a field that every case needs is missing", "fill it in", _UNUSED, ALL
    ),
    "bad-field": Kind(
        "error", "a field with a value that cannot be used", "correct the value", _UNUSED, ALL
    ),
    "bad-id": Kind(
        "error",
        "an id that cannot name a file",
        "use letters, digits, '-' and '_'",
        _UNUSED,
        ALL,
    ),
    "duplicate-id": Kind("error", "an id used twice", "give every case its own id", _UNUSED, ALL),
    "path-escape": Kind(
        "error",
        "a path that leaves the set's folder",
        "keep all files in the folder",
        _UNUSED,
        ALL,
    ),
    "missing-file": Kind(
        "error", "a file that is not there", "restore it or remove the case", _UNUSED, ALL
    ),
    "unreadable-image": Kind(
        "error", "a file that cannot be read as an image", "save it as PNG", _UNUSED, ALL
    ),
    "truncated-image": Kind(
        "error", "a damaged or truncated image", "fetch or save it again", _UNUSED, ALL
    ),
    "oversized-image": Kind(
        "error",
        "an image with too many pixels",
        "make it smaller or raise MEDEBENCH_MAX_PIXELS",
        _UNUSED,
        ALL,
    ),
    # --- pictures ---------------------------------------------------------------------------
    "no-reference": Kind(
        "note",
        "no reference image",
        "add one to have scores against a reference",
        "Metrics against the reference have no score there.",
        REFERENCE,
    ),
    "no-roi": Kind(
        "note",
        "no ROI mask",
        "add one to have preservation and grounding measured",
        "Preservation, intended change and grounding have no score there.",
        ROI,
    ),
    "reference-size": Kind(
        "warning",
        "reference of a different size from its image",
        "bring it to the size of the image; it is resized (bicubic) for every comparison",
        "Resizing blurs the reference: a perfect output no longer equals it.",
        FRAME,
    ),
    # Not an error: it can be read and scored, and "nothing to do" can be meant as a control.
    "reference-unchanged": Kind(
        "warning",
        "the reference is the image itself, pixel by pixel",
        "put the right reference in place, or remove the cases unless no change is intended",
        "Doing nothing is a perfect edit there; the intended change is undefined.",
        REFERENCE,
    ),
    "misaligned-pair": Kind(
        "warning",
        "the reference shows the same scene in another place (outside the ROI it fits once moved)",
        "align the reference, or leave these cases out of scores against it",
        "Pixel distances to the reference measure the shift: a perfect edit scores badly, and the "
        "intended change is read off pixels that are not the same place.",
        REFERENCE,
    ),
    "other-photograph": Kind(
        "warning",
        "the reference is another photograph than the image (outside the ROI they differ by 10 or "
        "more, or have nothing in common)",
        "read scores against the reference over the other cases alone; --without other-photograph "
        "leaves these out",
        "Distances to the reference measure the other photograph, not the edit: a perfect edit "
        "scores badly, and doing nothing need not score worse. edit_residual is undefined from a "
        "difference of 10 on; a judge that sees the reference is misled where it compares in "
        "detail.",
        REFERENCE,
    ),
    "personal-metadata": Kind(
        "warning",
        "metadata that may identify a person, a place or a device",
        "strip it before the set is shared: --fix writes a copy without metadata",
        f"{_NOTHING} It is a risk for whoever is in the picture.",
    ),
    "transparency": Kind(
        "note",
        "transparent pixels",
        "alpha is dropped, and the colours below show; flatten it if that is not intended",
        "Colours that nobody saw are compared where the picture was transparent.",
        REFERENCE,
    ),
    "sixteen-bit": Kind(
        "note",
        "more than 8 bits a pixel",
        "read in full; give the number in use as 'bits'",
        "Differences are shares of the range: without 'bits' that of the file, not of the scanner.",
        ("ssim", "psnr", "cp", "change_*"),
    ),
    "colour-mode": Kind(
        "note",
        "colours that are not stored as RGB or grey",
        "converted to RGB without its colour profile",
        "Colours can differ a little from what other programs show.",
    ),
    "exif-rotation": Kind(
        "note",
        "stored sideways, with a rotation in its EXIF data",
        "read upright; programs that ignore EXIF see it rotated",
        "Outputs of systems that ignore EXIF are compared sideways.",
        ALL,
    ),
    "several-frames": Kind(
        "note", "several frames or pages in one file", "only the first is read", _NOTHING
    ),
    # --- masks ------------------------------------------------------------------------------
    "inverted-mask": Kind(
        "warning",
        "the ROI mask looks inverted (it marks what stays instead of what may change)",
        "look at them (`cases show SET --finding inverted-mask --out sheet.png`), and invert them",
        "Preservation is measured where the edit is, and the edit where nothing changes.",
        ROI,
    ),
    "mask-size": Kind(
        "warning",
        "mask of a different size from its image",
        "draw it on the image; it is stretched to the image by nearest neighbour",
        _ROWS,
        ROI,
    ),
    "mask-mode": Kind(
        "warning",
        "mask is not one 8-bit channel",
        "save it as 8-bit grey; it is read as its brightness",
        "No score suffers where it is black and white; a coloured one is cut by its brightness.",
        ROI,
    ),
    "roi-empty": Kind(
        "error",
        "the ROI is empty",
        "draw the region; with none there is nothing that may change",
        "Nothing is intended to change: what needs a region is undefined.",
        ROI,
    ),
    "roi-tiny": Kind(
        "warning",
        "the ROI is less than 0.1% of the image",
        "check that the mask shows all that may change",
        "The intended change rests on a few pixels.",
        INTENDED,
    ),
    "roi-too-large": Kind(
        "warning",
        "too little is left outside the ROI to measure preservation",
        "tighten the mask; `cp` is undefined or rests on a few windows, `cp_published` flatters",
        "Nothing is left to preserve: `cp` rests on a few windows or is undefined, and "
        "`cp_published` is near 1 whatever was done.",
        ("cp", "cp_published", "change_outside"),
    ),
    "keep-empty": Kind(
        "warning",
        "the keep mask is empty",
        "draw what must stay, or leave the mask out; it is read as keeping nothing",
        "Systems with two masks may change everything.",
    ),
    "mask-greys": Kind(
        "warning",
        "mask with values other than 0 and 255",
        "cut it at 127, as medebench reads it; the published score weights greys instead",
        "The border of the region depends on where greys are cut; `cp_published` weights them.",
        ("cp_published", "cp"),
    ),
    "mask-zero-one": Kind(
        "warning",
        "mask stored as 0 and 1",
        "save it as 0 and 255; it is read so, but other programs see an empty mask",
        f"{_NOTHING} Published scripts, which cut at 127, see an empty mask.",
    ),
    # --- pictures that appear more than once ------------------------------------------------
    "duplicate-case": Kind(
        "warning",
        "cases with the same image, the same reference and the same ROI, whatever their texts",
        "keep one of each, unless the wording is what is compared; --fix keeps them all",
        "The same edit is counted twice; intervals and tests take it for two.",
        ALL,
    ),
    "duplicate-image": Kind(
        "warning",
        "single pictures, pixel by pixel the same, in cases that otherwise differ (whole equal "
        "cases are duplicate-case)",
        "the cases are not independent: keep one, or rely on intervals clustered by image",
        _ALONE,
        ALL,
    ),
    "shared-image": Kind(
        "note",
        "one picture file used by several cases",
        "nothing, if intended; the cases are not independent",
        _ALONE,
        ALL,
    ),
    "near-duplicate": Kind(
        "warning",
        "pictures of different cases that look the same without being equal",
        "inspect them: copies that were rescaled or saved again count as one source",
        _ALONE,
        ALL,
    ),
    "shared-source": Kind(
        "note",
        "cases made from one source image",
        "nothing, if intended: intervals and tests take the cases of one source as one",
        _ALONE,
        ALL,
    ),
    # --- targets and answers ----------------------------------------------------------------
    "contradictory-targets": Kind(
        "warning",
        "the same input and the same instruction, but different targets",
        "say in the instruction what tells them apart, or keep one; --without "
        "contradictory-targets leaves them out",
        "No system can match all of them: whoever is right for one is wrong for the other.",
        (*REFERENCE, *ANSWER),
    ),
    "empty-answer": Kind(
        "warning",
        "no reference answer where a text is asked for",
        "write the answer, or leave the cases out of scores against it",
        "Scores against the reference text are undefined there.",
        ANSWER,
    ),
    "templated-answer": Kind(
        "warning",
        "one answer, word by word, for many different inputs",
        "write answers that say what is seen; look at these cases apart",
        "A system that never looks at the image can score as well as one that does.",
        ANSWER,
    ),
    "no-choices": Kind(
        "error",
        "a multiple-choice question without its choices",
        "give them in a field, or after 'Options:' in the instruction",
        "Nothing says which answers are offered: choice_accuracy has no score there.",
        ("choice_*",),
    ),
    "answer-not-offered": Kind(
        "error",
        "an answer that is none of the choices",
        "correct the answer or the choices",
        "choice_accuracy has no score there, and no exact match can be reached.",
        ("choice_*", "exact_*"),
    ),
    "target-shape": Kind(
        "warning",
        "a target of another shape than its input, which is stretched for every comparison",
        "bring the target to the shape of the input",
        "Pixel distances to the reference measure the stretching.",
        FRAME,
    ),
    "target-not-larger": Kind(
        "warning",
        "a higher resolution is asked for, and the target has no more pixels than the input",
        "put the right target in place",
        "Returning the input can be the best answer there.",
        REFERENCE,
    ),
    "box-outside": Kind(
        "warning",
        "a box that reaches out of its image",
        "give centre x, centre y, width and height as shares of the image; what lies outside is "
        "cut off",
        "The region is smaller than recorded, or in another place.",
        ROI,
    ),
    "contact-sheet": Kind(
        "warning",
        "several input images that are there as one sheet only",
        "restore the images: the sheet shrinks and recompresses them",
        "Systems see smaller images than meant, and cases of one source are not recognised.",
        ALL,
    ),
    "modality-spelling": Kind(
        "note",
        "one modality in several spellings",
        "nothing: they are folded into one; tables by the raw spelling would split it",
        _NOTHING,
    ),
    "modality-unknown": Kind(
        "note",
        "a modality that is none of the six",
        "name one of CT, MRI, Ultrasound, X-ray, Pathology, Clinical Photography",
        f"{_NOTHING} The cases are counted as 'Other' in tables by modality.",
    ),
    # --- texts ------------------------------------------------------------------------------
    "empty-prompt": Kind(
        "error", "a prompt without words", "write what is to be done", _UNUSED, ALL
    ),
    "mojibake": Kind(
        "warning",
        "text read in the wrong encoding (mojibake)",
        "--fix undoes it where that is possible without doubt; correct the others",
        "Systems, encoders and judges are given characters that mean nothing.",
        (*PROMPT, *DESCRIPTION),
    ),
    "cut-text": Kind(
        "warning",
        "a text that breaks off in the middle",
        "complete it; a model's answer limit may have cut it",
        "What is to be done, or to what, is lost: systems given this text guess, and scores "
        "against it measure the guess.",
        (*PROMPT, *DESCRIPTION),
    ),
    "refused-text": Kind(
        "warning",
        "a model's refusal or talk about itself instead of a text",
        "write the text, or have it written again",
        "Judges and encoders compare the output with an apology.",
        (*PROMPT, *DESCRIPTION),
    ),
    "short-prompt": Kind(
        "note",
        "a terse prompt: whole, but fewer than 3 words",
        "say where, if the image leaves it open",
        "What is meant is left to the image; systems may take another place for it.",
        PROMPT,
    ),
    "short-description": Kind(
        "warning",
        "a description of fewer than 5 words",
        "describe the change so that someone who sees only the text knows what to expect",
        "Too little to compare an output with.",
        DESCRIPTION,
    ),
    "no-description": Kind(
        "note",
        "no description of the change",
        "describe the expected change: the judge and the text metrics compare with it",
        "The judge is guided by the prompt instead, and metrics of the description have no score.",
        DESCRIPTION,
    ),
    "rephrased-same": Kind(
        "note",
        "the rephrased prompt is the prompt",
        "rephrase it, or leave these cases out where the effect of wording is measured",
        "The effect of wording is underestimated; scores under the prompt do not suffer.",
    ),
}


def kind_of(code: str) -> Kind:
    """The kind of this code; groups that tables are broken down by have one each ("no-organ")."""
    if code in KINDS:
        return KINDS[code]
    name = code.removeprefix("no-")
    if name == code:
        return Kind("error", code.replace("-", " "), "correct the record", _UNUSED, ALL)
    return Kind(
        "warning" if name == "organ" else "note",
        f"no {name}",
        f"fill in '{name.capitalize()}' to have scores by {name}",
        f"{_NOTHING} The case is missing from tables by {name}.",
    )
