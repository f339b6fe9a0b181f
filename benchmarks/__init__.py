"""What odradek costs and how fast it is, beside the least that the same work can cost on the same machine.

    make bench                                      everything, one table (python -m benchmarks)
    make bench-peers                                Apache Kafka and odradek in turn, with ratios (--peers)
    python -m benchmarks --list                     the axes
    python -m benchmarks --only sync fifty --quick  a few of them, briefly
    python -m benchmarks --only 'produce-*' --repeat 3 --no-floors
    python -m benchmarks --only sync --under 'perf record -g -o /tmp/perf.data --'

docs/benchmarks.md says what each axis means and what was measured. Nothing here is asserted by tests: figures belong to
a machine and a moment. Nothing here imports the broker either, except where the storage engine itself is what is
measured: loads speak Kafka's protocol from bytes of their own.

How it is put together:

    __main__      the command line
    runner        runs axes against targets, gathers a report (data)
    table         prints a report
    axes/         one module for each family of axes: what is run, what its floor is
    axis          Axis, Measure, and what axes are given: Bench (one run), Stage (one target in it)
    target        a broker as a process: odradek or Apache Kafka (peers fetches it)
    floors        the programs that do the least
    clients/      the loads, each run in a process of its own (isolation)
    wire, records Kafka requests and record batches as ready-made bytes; connection sends them
    machine       CPU time, memory, how busy others are
    statistics    percentiles
"""
