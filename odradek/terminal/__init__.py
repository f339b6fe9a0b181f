"""Where a command meets the person and the shell: output, numbers for people, errors, exit codes, Ctrl-C."""
