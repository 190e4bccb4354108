"""ImageReward: what people would prefer to see for a text."""
