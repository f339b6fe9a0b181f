"""From the files of a partition directory to a log: what a stop or a crash left is settled, checked and loaded."""
