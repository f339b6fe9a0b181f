"""The pages of the console, asked as a browser asks, of a running broker."""
