"""What is no text for a model: signs at the edges, tags, messages, and strings that are kept."""
