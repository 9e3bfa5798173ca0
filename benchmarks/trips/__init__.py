"""Documents on a round trip: what a translation that changes nothing, or every text, does to them.

python -m benchmarks.trips [--count 200] [--seed 1]
"""
