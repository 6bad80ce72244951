"""Small protocols the rooms speak through; an engine fits one, a test double is an engine too."""
