"""Reading topics: options, from offsets to tasks, the batch and the streaming readers, and what a task does."""
