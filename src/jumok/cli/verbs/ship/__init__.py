"""The commands that make something of a model for other machines."""
