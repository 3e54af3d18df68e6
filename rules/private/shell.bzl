"""Text for shell scripts."""

def shell_quote(word):
    """The word as one word of a POSIX shell.

    Args:
      word: any text.
    Returns:
      The text in single quotes.
    """
    return "'" + word.replace("'", "'\\''") + "'"
