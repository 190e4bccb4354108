"""Learning paradigms: fine-tuning with few pairs, and showing them in context, as an experiment."""
