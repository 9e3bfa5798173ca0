"""The traces of each system: what it attended to while it worked."""
