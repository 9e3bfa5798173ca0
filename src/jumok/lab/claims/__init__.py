"""What is claimed, lab by lab, with the notes' own words and what would disprove them."""
