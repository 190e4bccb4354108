"""The metrics of MedGEN-Bench as its code computes them, faults included: names end in `_medgen`.

They are for putting a row beside the paper's. Beside each stands an honest one, which its summary
names; docs/medgen.md says what is wrong with these.
"""

#: Why nobody is called the best by them.
UNRANKED = "computed as published, faults included, to stand beside the paper"
