"""`--engine ray`: queries are distilled by processes that Ray places on the nodes of a cluster (docs/adr/0012, docs/ray.md).

    driver (the command)           keeper (its machine)         workers (any node)
    threads, journal, store  --->  tape, budget, quarantine <--  Distillation, teacher's calls

Ray starts, places and restarts the processes and repeats what a lost one was doing. What is true is on the driver's machine:
the store and the journal in the driver's process, the tape and the money in the keeper's.
"""

from drag_graph.jobs.ray.ray_distillation import RayDistillation

__all__ = ["RayDistillation"]
