"""The small vocabulary with which `concept` reads an editing instruction."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: What may stand before the instruction proper, longest first where one begins another.
OPENERS: tuple[tuple[str, ...], ...] = tuple(
    tuple(line.split())
    for line in (
        "i would like you to", "i would like to", "i would like", "i'd like you to", "i'd like to",
        "i'd like", "i want you to", "i want to", "i want", "i need you to", "i need to", "i need",
        "there should be", "there must be", "can you", "could you",
        "would you", "will you", "you should", "your task is to", "the task is to", "try to",
        "let us", "let's", "please", "kindly", "now", "then", "first", "just",
    )
)  # fmt: skip

DETERMINERS = _words(
    "the a an this that these those my your his her its their our all every each any both some no"
    " more another other"
)
NUMBERS = _words("one two three four five six seven eight nine ten several many few")

#: Behind the verb these belong to it ("take out the ..."), behind the noun they end the phrase.
PARTICLES = _words("up away out off in back down over")
#: Behind "get" and "take": "get rid of", "take care of".
LIGHT_NOUNS = _words("rid care")

#: None of these is part of a noun phrase.
STOPS = PARTICLES | _words(
    "of on at from to into onto for with without by between behind below above under around about"
    " across along after before near inside within beside over through towards toward until while"
    " where when which who that so as if than like instead because and or but then it they them he"
    " she you again forward together is are was were be been being has have had should must shall"
    " can could would will may might need needs looks look looking appear appears appearing"
    " disappear vanish sit sits stand point points not also caused using via please"
)
ADVERB_LIKE_NOUNS = _words("belly anomaly jelly family assembly")

#: What a thing is made to be ("make the nose straight"); cut off behind the noun.
PREDICATES = _words(
    "straight invisible visible whole complete intact white black dark bright clear clean smooth"
    " normal natural healthy even flat thin thick full symmetrical transparent young youthful red"
    " pink pale dry small large short long wide narrow round soft firm equal smaller"
)
#: Nouns in -er, which are no comparatives.
ER_NOUNS = _words(
    "finger ulcer cancer liver bladder gallbladder shoulder filler border center corner blister"
    " ureter catheter paper layer fiber caliper water crater fever number marker sphincter user"
    " pacemaker holder letter powder trochanter"
)
#: Words that can stand before "and" or a comma inside a phrase ("yellow and brown deposits").
ADJECTIVES = PREDICATES | _words(
    "upper lower left right inner outer front back yellow brown grey gray blue green purple high"
    " deep raised rough swollen inflamed irritated damaged missing broken irregular slim slimmer"
    " fuller thinner thicker big little old new bare bald fresh bony stitched surgical healed"
    " minor slight major mild"
)
#: Behind a noun these belong to what follows ("the scar located on the chin").
POSTPOSED = _words("visible located situated present seen found shown left here there")
#: Verbs whose object is followed by what it is to become.
RESULT_VERBS = _words("make turn set keep render show get leave give want have let")
#: "Show the lobe without the growth": the growth is what changes.
SHOW_VERBS = _words("show present depict display render give picture imagine")
GIVE_VERBS = _words("give lend offer grant")
#: "Use screws to fix the bone": the bone is what changes.
MEANS_VERBS = _words("use apply employ")
PICTURES = _words(
    "image picture photo photograph scan radiograph x-ray xray film mri ct slice view frame edit"
    " region area"
)

#: Heads that only say which side or measure of a thing is meant: the thing comes after "of".
ASPECTS = _words(
    "appearance look shape size colour color tone volume fullness amount extent thickness length"
    " width height position contour surface texture visibility severity level degree distance"
    " part parts portion rest side top bottom back third half edge piece trace traces sign signs"
    " result results effect effects state condition view look impression enhancement improvement"
    " change changes correction"
)
#: Interventions: "lip augmentation" is about the lip.
PROCEDURES = _words(
    "augmentation transplant transplantation tightening liposuction surgery operation removal"
    " reconstruction reduction whitening bleaching lift procedure procedures treatment treatments"
    " therapy repair implantation extraction correction enhancement firming contouring resection"
    " excision injection"
)
#: The prepositions that lead from an aspect or a procedure to its thing.
LINKS = _words("of to in for between on around from at")

#: Plurals that no ending tells.
IRREGULAR = {
    "teeth": "tooth", "feet": "foot", "nevi": "nevus", "naevi": "naevus", "vertebrae": "vertebra",
    "lenses": "lens", "lens": "lens", "people": "person", "bronchi": "bronchus",
    "metastases": "metastasis", "stenoses": "stenosis", "diagnoses": "diagnosis",
    "thromboses": "thrombosis", "polypi": "polyp", "sclerae": "sclera", "scapulae": "scapula",
    "fibulae": "fibula", "calculi": "calculus", "thrombi": "thrombus", "emboli": "embolus",
    "calves": "calf", "knives": "knife",
}  # fmt: skip
