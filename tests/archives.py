"""Changes to the archives of saved smoothers."""

import io
import json
import zipfile

import numpy as np


def rewrite(path, description=(), **arrays):
    """Write the archive again with changes to its description and arrays."""
    with zipfile.ZipFile(path) as bundle:
        parts = {name: bundle.read(name) for name in bundle.namelist()}
    changed = json.loads(parts["smoother.json"]) | dict(description)
    parts["smoother.json"] = json.dumps(changed).encode()
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        parts[f"{name}.npy"] = buffer.getvalue()
    with zipfile.ZipFile(path, "w") as bundle:
        for name, content in parts.items():
            bundle.writestr(name, content)
