"""Documents: their texts are extracted, and put back translated with everything else unchanged."""
