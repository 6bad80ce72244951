"""What hosts call at every step: record it, and at some steps say what is remembered.

What always holds: exit status 0; standard output empty or one JSON object, never a decision about what
the host may do; an end after the deadline, whatever hangs; an event that cannot be appended waits in the
spool. Nothing here imports more of Holdfast than `capture`, because a hook is paid for at every step.
"""
