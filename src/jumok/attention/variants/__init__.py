"""What published models changed in multi-head attention: each change is a part of its own."""
