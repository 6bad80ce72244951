"""Pure functions over text: words, passages, sentences, dates, names, instructions, levels of detail."""
