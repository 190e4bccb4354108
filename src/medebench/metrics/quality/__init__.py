"""Quality of a picture by itself, from the statistics of natural images: NIQE and BRISQUE."""
