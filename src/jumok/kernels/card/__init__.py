"""Kernels for GPUs with CUDA: in Triton, which torch brings where it is built for CUDA, and made of
torch's own functions (`linear.py`).
"""
