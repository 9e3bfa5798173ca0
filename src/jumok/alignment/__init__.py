"""Which source word a target word comes from, by the attention of the model that wrote it."""
