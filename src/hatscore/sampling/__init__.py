"""Raw replies from any model into one store."""
