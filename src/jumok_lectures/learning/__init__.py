"""Labs about what learns, and from how much: gradients, widths, data, scores."""
