"""Many machines: units of work go to the workers of a dask cluster.

    address.py      what `--cluster ADDRESS` means: tcp://, tls://, local:N, slurm:FILE
    opening.py      connect to a scheduler, or start one
    local.py        a cluster of this machine: its program, and how it is started and ended
    link.py         the connection to a scheduler: usable workers, their number, and the results of jobs
    parcels.py      several short jobs as one task of dask
    jobs.py         the messages: jobs, answers, and larger data by digest
    coordinator.py  the `Workers` of a campaign on a cluster
    host.py         on a worker: starts and ends the processes that do the work
    child.py        such a process
    units.py        how such a process runs a unit of a campaign
    files.py        the files of a policy, and how they get to a worker

A dask worker does no work itself. It has a process for each thread, which does one job after the other, like the local
processes of `misstep.campaigns.workers`. So limits of time and memory, the hash seed and the end of a process mean the
same on a cluster as on this machine, and a unit that ends its process does not end the worker, which still has the last
output of the process.
"""
