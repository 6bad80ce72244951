"""What Holdfast claims, measured: each command prints its figures beside a baseline of the same run."""
