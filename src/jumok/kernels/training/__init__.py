"""Layers as training computes them: what their gradients need is done in them."""
