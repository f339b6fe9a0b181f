"""Records as people and programs write and read them: lines, formats, JSON. Pure: bytes in, bytes out."""
