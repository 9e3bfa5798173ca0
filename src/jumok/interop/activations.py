"""The names of activations in the configs of others."""

from typing import Literal

ActivationName = Literal[
    "relu", "gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "silu", "swish"
]
_OTHERS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "swish": "silu",
}


def activation_here(name: ActivationName) -> str:
    """The name of the same function in a recipe."""
    return _OTHERS.get(name, name)


def activation_there(name: str) -> str:
    """The name that transformers has for the activation of a recipe."""
    return {"gelu_tanh": "gelu_new"}.get(name, name)
