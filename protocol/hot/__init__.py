"""Hand-tuned encoders of the two responses that carry or acknowledge data: Produce and Fetch.

They write the same bytes as the compiled codec (property tests hold them equal). Produce is here because its usual
answer - one partition, no error - is the commonest message there is; Fetch because its records are not bytes but
stretches of files.
"""
