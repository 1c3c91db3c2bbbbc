"""What the project and its adapters are tested with; shipped, so that an adapter of somebody else's can be held to it too.

`stores` is the contract suite of the `GraphStore` port, `dict_store` a small store in memory that passes it, `builders` makes
valid subgraphs and answers. `stores` and `builders.subgraphs` need pytest and hypothesis (the `dev` extra).
"""
