"""Link public names in code type to the reference, in Markdown too."""

import re
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

LINKED = (nodes.reference, nodes.title)


class LinkNames(SphinxPostTransform):
    """Turn ``name`` and ``name(...)`` into a link if the name is public."""

    default_priority = 900

    def run(self, **_: Any) -> None:
        """Process all literals of one page."""
        objects = self.env.get_domain("py").objects
        homes = {
            name.rpartition(".")[2]: entry
            for name, entry in objects.items()
            if entry.objtype in ("class", "function")
        }
        here = self.env.docname
        for node in list(self.document.findall(nodes.literal)):
            named = re.fullmatch(r"(\w+)(\(.*\))?", node.astext())
            home = homes.get(named[1]) if named else None
            if home is None or home.docname == here or _is_linked(node):
                continue
            link = make_refnode(
                self.app.builder, here, home.docname, home.node_id, node.deepcopy()
            )
            node.replace_self(link)


def _is_linked(node: nodes.Node) -> bool:
    while node is not None:
        if isinstance(node, LINKED):
            return True
        node = node.parent
    return False


def setup(app: Any) -> dict[str, bool]:
    """Register the transform."""
    app.add_post_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
