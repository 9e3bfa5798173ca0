"""The commands that the lectures attach to jumok: `jumok lab` and `jumok explain --lecture`."""
