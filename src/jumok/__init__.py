"""jumok (주목): train attention models, look inside them, and ship them."""
