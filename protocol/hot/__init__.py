"""Hand-tuned codecs of Produce and Fetch, the two APIs that carry the data.

They speak the same wire format as the compiled codecs of `protocol.messages.produce` and `protocol.messages.fetch`
(property tests hold them equal), but build no object per field: topics stay as raw bytes, records as views of the
frame.
"""
