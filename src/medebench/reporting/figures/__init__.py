"""The figures, one file each; `draw_report` draws them all."""
