"""The process behind a project's hooks: it keeps the project open, so that an answer takes milliseconds.

What always holds: one for each project, because it has the project's `resident.lock`, which dies with
it; its socket is the owner's alone; it ends when nobody asked for a while, when it has grown too large,
when its code or its project was replaced; whatever it is asked, it answers one line of JSON or closes
the line.
"""
