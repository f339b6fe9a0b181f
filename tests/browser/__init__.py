"""The console in a real browser. All in one worker, which has one browser and one console."""
