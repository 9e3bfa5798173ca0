"""CTranslate2 behind FastAPI and uvicorn (with uvloop and httptools), as its users put it there.

python ctranslate2_server.py PACKAGE PORT each|together

`each`: a handler in a thread for each request, which calls `translate_batch` with its text, as
CTranslate2's issue 1140 advises; CTranslate2 puts the calls in a queue of its own.
`together`: what arrived while a batch was computed is the next batch, up to 32 texts with the same
beam, which CTranslate2's Python package leaves to its users.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import ctranslate2
import sentencepiece
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

MOST = 32
Waiting = tuple[list[str], int, "asyncio.Future[str]"]


class Asked(BaseModel):
    """A text."""

    text: str
    beam: int = 1


class Model:
    """The model and its tokenizer, on one thread."""

    def __init__(self, package: Path) -> None:
        self.tokens = sentencepiece.SentencePieceProcessor(
            model_file=str(package / "sentencepiece.model")
        )
        self.translator = ctranslate2.Translator(
            str(package / "model"), compute_type="int8", inter_threads=1, intra_threads=1
        )

    def encoded(self, text: str) -> list[str]:
        return self.tokens.encode(text, out_type=str)

    def translated(self, rows: list[list[str]], beam: int) -> list[str]:
        results = self.translator.translate_batch(rows, beam_size=beam)
        return [self.tokens.decode_pieces(each.hypotheses[0]) for each in results]


def serve_each(model: Model) -> FastAPI:
    """A call for each request."""
    app = FastAPI()

    @app.post("/translate")
    def translate(asked: Asked) -> dict[str, str]:
        (text,) = model.translated([model.encoded(asked.text)], asked.beam)
        return {"text": text}

    return app


def serve_together(model: Model) -> FastAPI:
    """Batches of what waits."""
    waiting: asyncio.Queue[Waiting] = asyncio.Queue()

    async def compute() -> None:
        held: list[Waiting] = []
        while True:
            held = held or [await waiting.get()]
            while not waiting.empty():
                held.append(waiting.get_nowait())
            beam = held[0][1]
            batch = [each for each in held if each[1] == beam][:MOST]
            held = [each for each in held if each not in batch]
            try:
                texts = await asyncio.to_thread(
                    model.translated, [row for row, _, _ in batch], beam
                )
            except Exception as error:  # the next requests must be answered
                for _, _, future in batch:
                    future.set_exception(error)
                continue
            for (_, _, future), text in zip(batch, texts, strict=True):
                future.set_result(text)

    @asynccontextmanager
    async def computing(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(compute())
        yield
        task.cancel()

    app = FastAPI(lifespan=computing)

    @app.post("/translate")
    async def translate(asked: Asked) -> dict[str, str]:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        await waiting.put((model.encoded(asked.text), asked.beam, future))
        return {"text": await future}

    return app


def main() -> None:
    """Load, then answer."""
    package, port, how = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    model = Model(package)
    app = serve_each(model) if how == "each" else serve_together(model)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    uvicorn.run(app, host="127.0.0.1", port=port)


if __name__ == "__main__":
    main()
