"""The only writer: redact, stamp origin and trust, check limits, append, acknowledge."""
