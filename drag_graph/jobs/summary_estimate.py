"""Estimate the summaries of communities: `communities --dry-run`."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from drag_graph.communities.summaries import request
from drag_graph.distill.cost_estimate import Pricing
from drag_graph.jobs.community_job import CommunityPlan
from drag_graph.ports.linked_edges import LinkedEdge

TOKENS_OUT = 130
"""Assumed number of tokens of a title and a summary of 80 words as JSON."""


def foresee(
    plan: CommunityPlan, edges: Iterable[LinkedEdge], namespace: str, model: str, pricing: Pricing | None
) -> dict[str, Any]:
    """Return communities, calls, tokens and the price in US dollars; `pricing` is None without a model.

    Replies that the ledger has recorded are counted as if they had to be paid.
    """
    waiting = {entity: item for item in plan.waiting for entity in item.entities}
    counts = {"communities": len(plan.communities), "new": plan.made, "summaries": len(plan.waiting)}
    if pricing is None:
        return {**counts, "calls": 0, "tokens_in": 0, "tokens_out": 0, "price_usd": 0.0, "price_known": True}
    inside: dict[str, list[LinkedEdge]] = defaultdict(list)
    for edge in edges:
        community = waiting.get(edge.source_entity)
        if community is not None and waiting.get(edge.target_entity) == community:
            inside[community.id].append(edge)
    prompts = (request(item, inside[item.id], namespace).messages for item in plan.waiting)
    tokens_in = sum(pricing.count_tokens(model, messages) for messages in prompts)
    tokens_out = TOKENS_OUT * len(plan.waiting)
    price = pricing.price_of(model, tokens_in, tokens_out)
    tokens = {"calls": len(plan.waiting), "tokens_in": tokens_in, "tokens_out": tokens_out}
    return {**counts, **tokens, "price_usd": round(price or 0.0, 6), "price_known": price is not None}
