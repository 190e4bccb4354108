"""The panel in the browser and what stands behind it."""

from importlib.util import find_spec

from medebench.errors import NotReadyError

# Here, because this runs before any module of this folder imports them.
_missing = [name for name in ("fastapi", "sqlalchemy", "uvicorn") if find_spec(name) is None]
if _missing:
    raise NotReadyError(
        f"a study's server and database need {', '.join(_missing)}: pip install 'medebench[web]'"
    )
