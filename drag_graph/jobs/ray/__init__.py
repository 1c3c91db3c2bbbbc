"""`--engine ray`: processes on the nodes of a Ray cluster distil the queries (docs/decisions/0006-threads-and-ray.md).

    driver (the command)           keeper (its machine)         workers (any node)
    threads, journal, store  --->  tape, budget, quarantine <--  Distillation, teacher's calls

Ray starts, places and restarts the processes, and repeats the work of lost ones. All state is on the driver's machine: the
driver's process has the store and the journal, the keeper's process the tape and the budget.
"""
