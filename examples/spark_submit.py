"""The jobs of `odradek pipeline` for spark-submit, which wants a script: what follows its name is what follows there.

    pip wheel --no-deps -w dist .
    spark-submit --master spark://host:7077 --py-files dist/odradek-*.whl examples/spark_submit.py \\
        archive orders --bootstrap-server kafka:9092 --output hdfs://name:8020/archive

docs/pipeline.md (On a cluster) says what has to be installed where.
"""

import sys

from odradek.cli.app import run

if __name__ == "__main__":
    sys.exit(run(["pipeline", *sys.argv[1:]]))
