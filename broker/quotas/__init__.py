"""Nobody gets more than their share: quotas of clients, measured and enforced.

KIP-13, KIP-55, KIP-124, KIP-219, KIP-257, KIP-599, KIP-612.

`rates` and `buckets` measure, `precedence` says which limit counts for whom, `sensors` remembers what each has taken.
`enforcement` is what requests ask, `addresses` what connections ask. What is set stands in the metadata image. Pure;
time is passed in.
"""
