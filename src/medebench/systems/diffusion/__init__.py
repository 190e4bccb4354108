"""Instruction-editing pipelines of diffusers behind one adapter; torch is imported when needed."""
