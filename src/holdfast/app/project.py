"""Which project is this? By its marker, else by its git history, else by asking the user to say.

The nearest folder upwards that has a marker or a git repository decides. A marker holds the id itself,
so a moved or cloned folder keeps its memory; a repository without one is known by its first commit,
which every clone shares and no move changes.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from holdfast import settings
from holdfast.capture.place import MARKER
from holdfast.capture.stamp import fresh_id
from holdfast.errors import Conflict, Invalid, NotFound
from holdfast.model.projects import Project, folder_parts

_HOW = "Run `holdfast init` in the project's folder to give it an identity"


def find(start: Path) -> Project:
    """The project a folder belongs to; NotFound says what to do when it belongs to none."""
    try:
        here = start.absolute()
    except FileNotFoundError:
        raise NotFound("the current folder does not exist any more; go to one that does") from None
    for folder in [here, *here.parents]:
        if (folder / MARKER).is_file():
            return _marked(folder)
        if (folder / ".git").exists():
            return Project(id=_id_from_git(folder), root=str(folder), found_by="git")
    raise NotFound(f"{here} is in no project: no {MARKER} and no git repository. {_HOW}")


def _marked(folder: Path) -> Project:
    path = folder / MARKER
    project_id = settings.read_toml(path).get("project_id")
    if not isinstance(project_id, str):
        raise Invalid(f'{path} names no project; it needs a line project_id = "…". {_HOW}')
    if project_id.startswith("~"):
        raise Invalid(f"{path} names the reserved project {project_id}; a repository cannot")
    folder_parts(project_id)
    return Project(id=project_id, root=str(folder), found_by="marker")


def _id_from_git(folder: Path) -> str:
    if _git(folder, "rev-parse", "--is-shallow-repository") == "true":
        raise NotFound(f"{folder} is a shallow clone, so its first commit is unknown. {_HOW}")
    roots = _git(folder, "rev-list", "--max-parents=0", "HEAD").split()
    if not roots:
        raise NotFound(f"{folder} has no commit yet. {_HOW}")
    return f"git-{min(roots)[:20]}"


def _git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise NotFound(f"git could not be asked about {folder} ({exc}). {_HOW}") from exc
    if done.returncode and "ambiguous argument 'HEAD'" not in done.stderr:
        raise NotFound(f"git says of {folder}: {done.stderr.strip()[:300]}. {_HOW}")
    return done.stdout.strip()


def mark(folder: Path) -> Project:
    """Write the marker: with the id the repository is known by already, else a fresh one."""
    path = folder / MARKER
    if path.exists():
        return _marked(folder)
    try:
        project_id = find(folder).id if (folder / ".git").exists() else fresh_id("prj")
    except NotFound:
        project_id = fresh_id("prj")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(
                "# Holdfast keeps this project's memory under this id. Commit this file: every\n"
                "# clone and every teammate then means the same project.\n"
                f'project_id = "{project_id}"\n'
            )
    except FileExistsError as exc:
        raise Conflict(f"{path} appeared while it was being made; run init again") from exc
    return _marked(folder)
