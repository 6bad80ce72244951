"""What leaves a window and what stays in its place; what leaves is recovered from the log."""
