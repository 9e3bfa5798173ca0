"""What a request says that its translations must contain, and how its texts are cut."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError, field_validator

from jumok.serving.http.handlers import Required
from jumok.serving.http.models import ServedModel
from jumok.serving.http.refusals import invalid
from jumok.serving.http.requests import read_body
from jumok.systems.translation.segments import Split
from jumok.systems.translation.terms.glossary import Glossary

MOST = 200
"""Terms, and strings to keep, of a request."""

Wanted = Annotated[str, Field(min_length=1, max_length=100)]


class RequiredFields(BaseModel):
    """Fields of every route that translates.

    Attributes:
        glossary: terms with their translations, besides those of the server.
        keep: strings that are not translated.
        no_keep: nothing is kept, numbers and placeholders included.
        split: where texts are cut into segments, as in `Translator.translate`.
    """

    glossary: Annotated[dict[Wanted, Wanted], Field(max_length=MOST)] = {}
    keep: Annotated[list[Wanted], Field(max_length=MOST)] = []
    no_keep: bool = False
    split: Split = "auto"

    @field_validator("glossary", "keep", mode="before")
    @classmethod
    def _of_form(cls, given: Any) -> Any:
        """A form has them as JSON."""
        try:
            return read_body(given) if isinstance(given, str) else given
        except (ValueError, RecursionError):
            return given

    def of(self, model: ServedModel) -> Required:
        """With the model's own glossary.

        Raises:
            DataError: a term is blank, or has two translations.
            RequestRefused: strings are to be kept, and nothing is.
        """
        if self.no_keep and self.keep:
            raise invalid("keep and no_keep contradict each other.", "no_keep")
        glossary = model.glossary
        if self.glossary:
            glossary = (glossary or Glossary({})).with_terms(self.glossary)
        keep = None if self.no_keep else tuple(map(re.escape, self.keep))
        return Required(glossary, keep, self.split)


def required_in(fields: Mapping[str, object], model: ServedModel) -> Required:
    """What is required among the fields of a form.

    Raises:
        RequestRefused: it is not what it should be.
    """
    named = {name: fields[name] for name in RequiredFields.model_fields if name in fields}
    try:
        return RequiredFields.model_validate(named).of(model)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise invalid(f"Invalid request: {name}: {first['msg']}", name) from None
