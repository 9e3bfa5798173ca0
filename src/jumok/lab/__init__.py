"""The lectures' claims as experiments: one short file each, run on this machine."""
