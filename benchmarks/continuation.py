"""Tokens per processor second of greedy continuations on one thread: this engine beside
transformers and llama.cpp, in one run.

    OMP_NUM_THREADS=1 python -m benchmarks.continuation BUNDLE FILE.gguf [--quantized INT8]

BUNDLE is what `jumok import FILE.gguf` writes, INT8 what `jumok quantize BUNDLE --to int8` does. Of
the peers those are measured that are installed: transformers (with gguf and accelerate) reads FILE
in float32, llama-cpp-python a Q8_0 that it makes of FILE. Each writes the same number of tokens
after the same prompt; the time without the prompt is taken from what twice as many tokens take
longer.
"""

import argparse
import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.errors import BenchmarkError
from jumok.decoding import DecodingOptions
from jumok.systems.device import EnginePrecision
from jumok.systems.language_model import LanguageModel

PROMPT = "The history of the city begins in the ninth century, when three villages"
TOKENS = 48

Write = Callable[[int], object]
"""Writes so many tokens."""


def engines(bundle: Path, quantized: Path | None) -> Iterator[tuple[str, Write]]:
    """This engine in each of its precisions, and with the weights of a quantized bundle."""
    loaded: list[tuple[str, Path, EnginePrecision]] = [
        ("jumok fp32", bundle, "fp32"),
        ("jumok bf16", bundle, "bf16"),
        ("jumok int8", bundle, "int8"),
    ]
    if quantized is not None:
        loaded.append(("jumok quantized", quantized, "int8"))
    for name, folder, precision in loaded:
        model = LanguageModel.load(folder, engine="native", precision=precision)

        def write(count: int, model: LanguageModel = model) -> object:
            options = DecodingOptions(beam=1, minimum_length=count)
            written = list(model.generate_tokens(PROMPT, options, max_tokens=count))
            if len(written) < count:
                raise BenchmarkError(f"the model has no room for {count} tokens after the prompt")
            return written

        yield name, write


def transformers_writer(file: Path) -> Iterator[tuple[str, Write]]:
    """transformers with its key-value cache and the attention it prefers."""
    import torch
    import transformers

    torch.set_num_threads(1)
    named: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True}
    model = transformers.AutoModelForCausalLM.from_pretrained(
        file.parent, dtype=torch.float32, **named
    ).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **named)
    given = tokenizer(PROMPT, return_tensors="pt")

    def write(count: int) -> object:
        with torch.inference_mode():
            return model.generate(
                **given, do_sample=False, min_new_tokens=count, max_new_tokens=count
            )

    yield "transformers fp32", write


def llama_writer(file: Path) -> Iterator[tuple[str, Write]]:
    """llama.cpp with a Q8_0 that it makes of the file."""
    import llama_cpp

    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "q8_0.gguf"
        how = llama_cpp.llama_model_quantize_default_params()
        how.ftype, how.allow_requantize, how.nthread = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0, True, 1
        assert not llama_cpp.llama_model_quantize(str(file).encode(), str(made).encode(), how)
        model = llama_cpp.Llama(
            str(made), n_ctx=512, n_threads=1, n_threads_batch=1, logits_all=False, verbose=False
        )

        def write(count: int) -> object:
            model.reset()
            tokens = model.generate(model.tokenize(PROMPT.encode()), temp=0.0, repeat_penalty=1.0)
            return [next(tokens) for _ in range(count)]

        yield "llama.cpp Q8_0", write


PEERS = {
    transformers_writer: ("transformers", "gguf", "accelerate"),
    llama_writer: ("llama_cpp",),
}
"""By what measures a peer: the packages that it needs."""


def rate(write: Write) -> float:
    """Tokens per processor second, the prompt left out."""
    taken = []
    for count in (TOKENS, 2 * TOKENS):
        begin = time.process_time()
        write(count)
        taken.append(time.process_time() - begin)
    return TOKENS / max(taken[1] - taken[0], 1e-9)


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("bundle", type=Path)
    reader.add_argument("file", type=Path)
    reader.add_argument("--quantized", type=Path)
    reader.add_argument("--rounds", type=int, default=3)
    given = reader.parse_args()
    writers = list(engines(given.bundle, given.quantized))
    opened = []  # a file of llama.cpp is there as long as its writer
    for writer, packages in PEERS.items():
        if absent := [each for each in packages if importlib.util.find_spec(each) is None]:
            print(f"not measured, because {absent[0]} is not installed: {packages[0]}")
            continue
        opened.append(writer(given.file))
        writers.append(next(opened[-1]))
    rates: dict[str, list[float]] = {name: [] for name, _ in writers}
    for _ in range(given.rounds):
        for name, write in writers:
            rates[name].append(rate(write))
    for name, each in rates.items():
        print(f"{name:20} {sorted(each)[len(each) // 2]:7.1f} tokens/s of {each}")


if __name__ == "__main__":
    main()
