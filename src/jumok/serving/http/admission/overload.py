"""Whether the models that a route needs can take another request at all.

Where the queues of all models that may answer at a route are full, every request there is refused,
whatever its body says; so its body need not be read. (Texts without letters, or from a language
into itself, are refused with the others, though they would need no model.)
"""

from jumok.serving.http.models import Service
from jumok.serving.http.refusals import RequestRefused

ROUTES = {
    "/translate": {"translation"},
    "/translate_file": {"translation"},
    "/v1/translate": {"translation"},
    "/v1/score": {"translation", "language-model"},
    "/v1/classify": {"text-classification", "image-classification"},
    "/v1/fill": {"masked-lm"},
    "/v1/caption": {"captioning"},
    "/v1/completions": {"language-model"},
    "/v1/embeddings": {"translation", "masked-lm", "bert"},
}
"""The tasks of the models that may answer at a route; a task that a plugin added may at each."""

BUILT_IN = frozenset[str]().union(*ROUTES.values())


class Overload:
    """The queues that the requests at each route may go to."""

    def __init__(self, service: Service) -> None:
        self._queues = {
            route: [
                model.engine.queue
                for model in service.models.values()
                if model.opened.task in tasks or model.opened.task not in BUILT_IN
            ]
            for route, tasks in ROUTES.items()
        }

    def refusal(self, path: str) -> RequestRefused | None:
        """The refusal of any POST request at a path; None: there may be a place for it."""
        refused = None
        for queue in self._queues.get(path, ()):
            refused = queue.full
            if refused is None:
                return None
        return refused
