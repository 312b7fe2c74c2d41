"""Many machines: units of work go to the workers of a dask cluster.

    address.py      what `--cluster ADDRESS` means: tcp://, tls://, local:N, slurm:FILE
    opening.py      connect to a scheduler, or start one
    local.py        a cluster of this machine: its program, and how it is started and ended
    link.py         the connection to a scheduler: which workers may be used, how many, and what becomes of a job
    parcels.py      several short jobs as one task of dask
    jobs.py         what travels: tickets, answers, and larger things by digest
    coordinator.py  the `Workers` of a campaign that lie on a cluster
    host.py         on a worker: the processes that do the work
    child.py        such a process
    units.py        what it does with a unit of a campaign
    files.py        files that a policy is read from, and how they get to a worker

A worker of dask does no work of its own. It has a process for each thread, which does one job after the other, as the
local processes of `misstep.campaigns.workers` do. So limits of time and memory, the seed of hashes and the end of a
process mean the same on a cluster as on this machine, and a unit that ends its process does not end the worker: what
it said last can still be asked for.
"""
