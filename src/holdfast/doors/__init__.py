"""The ways in: each holds no logic and calls one verb of `app`."""
