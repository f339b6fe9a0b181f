"""odradek as a service of systemd: the text of its unit, and what is asked of systemd."""
