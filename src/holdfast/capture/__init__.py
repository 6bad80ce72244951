"""What a hook needs and nothing else: standard library only, and few of its modules.

A hook is a fresh Python process on every keystroke of an agent, so its cost is import time. This
package therefore holds the whole write path of the log (codec, lock, append, repair, spool) and the
redaction that comes before it, and the engine for files is built on the very same functions: the
bytes cannot differ, because there is one function that makes them.
"""
