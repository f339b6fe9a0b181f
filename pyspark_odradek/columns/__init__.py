"""From the bytes of record batches to Arrow record batches, without a Python object per record."""
