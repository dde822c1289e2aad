"""Text to answer to status: one extractor per answer type, the same for all languages."""
