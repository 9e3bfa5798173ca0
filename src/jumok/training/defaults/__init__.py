"""Recipes for files without one, sized to them."""
