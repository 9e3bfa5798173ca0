"""What a model does while it is used in any way, as traces and as states of many texts."""
