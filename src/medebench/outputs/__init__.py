"""What comes out of a system, and the files it is kept in."""

from medebench.outputs.output import PARTS, Edit, Output, Part, whole
from medebench.outputs.output_files import CODECS, Codec, OutputFiles, Stored

__all__ = ["CODECS", "PARTS", "Codec", "Edit", "Output", "OutputFiles", "Part", "Stored", "whole"]
