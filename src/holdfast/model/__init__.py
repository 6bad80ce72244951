"""Values only: what Holdfast speaks of, without a clock, a disk or an engine."""
