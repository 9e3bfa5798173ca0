"""Terms of a glossary, and their places in translations."""
