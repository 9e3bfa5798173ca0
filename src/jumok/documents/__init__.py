"""Documents: their sentences taken out, and put back translated with everything else as it was."""
