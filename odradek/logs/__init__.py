"""A look into Kafka's files without a broker: readers of every kind of file, and reports that are made from them.

Readers yield values and reports are data; how they are shown is apart (`*_text`). Everything is read through a
`storage.files.FileSystem`, nothing is changed but by `verify.repair`, and no length that a file claims is believed
before it is held against the size of the file.
"""
