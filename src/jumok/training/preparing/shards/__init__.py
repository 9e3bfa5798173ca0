"""`jumok prepare`: a corpus as shards of token ids, in tasks for many processes or machines."""
