"""The options of decoding as fields of requests."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from jumok.decoding.options import DecodingOptions
from jumok.options import options_of
from jumok.serving.http.models import Service
from jumok.serving.http.refusals import RequestRefused, invalid


def decoding_fields(defaults: DecodingOptions, *without: str) -> dict[str, Any]:
    """The fields of pydantic's `create_model`, with the help and the limits of the options.

    Each may be null (`given_options`).

    Args:
        without: options that a route does not have.
    """
    return {
        name: (
            known.kind | None,
            Field(
                getattr(defaults, name),
                description=known.option.help,
                ge=known.option.minimum,
                gt=known.option.above,
                le=known.option.maximum,
            ),
        )
        for name, known in options_of(DecodingOptions).items()
        if name not in without
    }


def given_options(asked: BaseModel) -> dict[str, Any]:
    """The options that a request names; null is as if one were left out, unless it is a value."""
    given = {
        name: (getattr(asked, name), known.optional)
        for name, known in options_of(DecodingOptions).items()
        if name in asked.model_fields_set
    }
    return {name: value for name, (value, null) in given.items() if null or value is not None}


def decoding_of(
    service: Service, given: Mapping[str, Any], defaults: DecodingOptions, alternatives: int = 0
) -> DecodingOptions:
    """The options of a request.

    Args:
        given: `given_options`.
        alternatives: outputs that are wanted besides the best; the beam is as large as they need.

    Raises:
        ConfigError: the options contradict each other.
        RequestRefused: they are more than this server does.
    """
    options = defaults.changed(given)
    limits = service.settings.limits
    if alternatives > limits.alternatives:
        text = f"At most {limits.alternatives} alternatives are returned, and {alternatives} were "
        text += "asked for."
        raise RequestRefused(400, "too_many_alternatives", text, parameter="alternatives")
    if alternatives:
        beam = max(options.beam, alternatives + 1)
        options = options.changed({"beam": beam, "nbest": alternatives + 1})
    for name, most in (("beam", limits.beam), ("maximum_length", limits.tokens)):
        if getattr(options, name) > most:
            text = f"{name} is at most {most} on this server, and {getattr(options, name)} was "
            raise invalid(f"{text}asked for.", name)
    return options


def tokens_of(cost: int, options: DecodingOptions) -> int:
    """The tokens of a text that are computed, from those of its source."""
    return max(cost, options.minimum_length) * options.nbest
