"""State as a fold of the log: keyed reducers, the runner that keeps them current, snapshots."""
