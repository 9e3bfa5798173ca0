"""Small models in Marian's own files, written and computed apart from the package: random weights,
each axis another prime where Marian allows it.

The computation follows marian-dev, src/models/transformer.h and src/rnn/cells.h.
"""

import math
import struct
import zipfile
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
import sentencepiece
import torch
import torch.nn.functional as F
from torch import Tensor

DIM, HEADS, HIDDEN, ENCODER, DECODER, ROWS = 26, 2, 29, 3, 2, 97
STUDENT = {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}
PLAIN = {"transformer-decoder-autoreg": "self-attention", "dec-cell": "gru"}
PRE = {"transformer-preprocess": "n", "transformer-postprocess": "da"} | {
    "transformer-postprocess-top": "n", "transformer-ffn-activation": "swish"
}  # fmt: skip
SIZES = {"enc-depth": ENCODER, "dec-depth": DECODER, "dim-emb": DIM, "transformer-heads": HEADS} | {
    "transformer-dim-ffn": HIDDEN, "dim-vocabs": [ROWS, ROWS]
}  # fmt: skip
USUAL = {
    "bert-train-type-embeddings": True, "bert-type-vocab-size": 2, "dec-cell-base-depth": 2,
    "dec-cell-high-depth": 1, "dim-rnn": 1024, "enc-cell": "gru", "enc-cell-depth": 1,
    "enc-type": "bidirectional", "input-types": [], "layer-normalization": False,
    "lemma-dim-emb": 0, "output-omit-bias": False, "right-left": False, "skip": False,
    "tied-embeddings": False, "tied-embeddings-all": True, "tied-embeddings-src": False,
    "transformer-aan-activation": "swish", "transformer-aan-depth": 2,
    "transformer-aan-nogate": False, "transformer-dim-aan": 2048,
    "transformer-ffn-activation": "relu", "transformer-ffn-depth": 2,
    "transformer-guided-alignment-layer": "last", "transformer-no-projection": False,
    "transformer-pool": False, "transformer-postprocess": "dan", "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": "", "transformer-preprocess": "", "transformer-tied-layers": [],
    "transformer-train-position-embeddings": False, "type": "transformer", "ulr": False,
    "ulr-dim-emb": 0, "ulr-trainable-transformation": False,
    "version": "v1.9.56 94aeaa46 2021-04-28 00:28:35 +0100",
}  # fmt: skip
SENTENCES = [
    "the cat sat on the mat", "a dog saw the cat again", "o gato sentou no tapete",
    "um cachorro viu o gato de novo", "How are you today?", "Como você está hoje?",
]  # fmt: skip

Settings = Mapping[str, object]
Tensors = dict[str, Tensor]


def yaml_of(settings: Settings) -> bytes:
    """As Marian writes it."""

    def line(value: object) -> str:
        if isinstance(value, list):
            return "".join(f"\n  - {each}" for each in value) if value else " []"
        return (
            f" {str(value).lower() if isinstance(value, bool) else value}" if value != "" else ' ""'
        )

    return "".join(f"{key}:{line(settings[key])}\n" for key in sorted(settings)).encode()


def tensors_of(settings: Settings, seed: int = 5) -> Tensors:
    """Random weights; norms and biases are off their defaults."""
    draw = torch.Generator().manual_seed(seed)
    shapes = {"Wemb": (ROWS, DIM), "decoder_ff_logit_out_b": (1, ROWS)}

    def norm(name: str, suffix: str = "") -> None:
        shapes.update({f"{name}_ln_{part}{suffix}": (1, DIM) for part in ("scale", "bias")})

    first = "rnn" if settings["transformer-decoder-autoreg"] == "rnn" else "self"
    pre = settings["transformer-preprocess"] == "n"
    layers = [(f"encoder_l{n + 1}", ("self", "ffn")) for n in range(ENCODER)]
    layers += [(f"decoder_l{n + 1}", (first, "context", "ffn")) for n in range(DECODER)]
    for layer, parts in layers:
        for part in parts:
            name = f"{layer}_{part}"
            if part == "ffn":
                shapes |= {f"{name}_W1": (DIM, HIDDEN), f"{name}_b1": (1, HIDDEN)}
                shapes |= {f"{name}_W2": (HIDDEN, DIM), f"{name}_b2": (1, DIM)}
            elif part == "rnn":
                shapes |= {f"{name}_W": (DIM, DIM), f"{name}_Wf": (DIM, DIM)}
                shapes[f"{name}_bf"] = (1, DIM)
            else:
                for letter in "qkvo":
                    shapes |= {f"{name}_W{letter}": (DIM, DIM), f"{name}_b{letter}": (1, DIM)}
            normed = {"self": "_Wo", "context": "_Wo", "ffn": "_ffn", "rnn": "" if pre else "_ffn"}
            norm(f"{name}{normed[part]}", "_pre" if pre else "")
    if pre:
        norm("encoder_top")
        norm("decoder_top")
    made = {name: torch.randn(shape, generator=draw) for name, shape in shapes.items()}
    return {
        name: 1 + 0.3 * each if "ln_scale" in name else each * (0.3 if each.shape[0] == 1 else 0.2)
        for name, each in made.items()
    }


def binary(tensors: Tensors, settings: bytes, *, integers: bool = False) -> bytes:
    """The contents of a .bin; matrices as 8-bit integers if asked for, as `marian-conv` does."""
    items: list[tuple[str, int, tuple[int, ...], bytes]] = []
    for name, tensor in tensors.items():
        if integers and tensor.shape[0] > 1:
            scale = 127.0 / float(tensor.abs().max())
            stored = tensor if name == "Wemb" else tensor.t()
            rounded = (stored * scale).round().to(torch.int8).contiguous().numpy()
            data = rounded.tobytes() + struct.pack("<f", scale)
            items.append((name, 0x4101, tuple(tensor.shape), data + bytes(-len(data) % 256)))
            items.append((f"{name}_QuantMultA", 0x404, (1, 1), struct.pack("<f", 3.0) + bytes(252)))
        else:
            data = tensor.contiguous().numpy().tobytes()
            items.append((name, 0x404, tuple(tensor.shape), data + bytes(-len(data) % 256)))
    items.append(("special:model.yml", 0x101, (len(settings) + 1,), settings + b"\0"))
    out = BytesIO()
    out.write(struct.pack("<QQ", 1, len(items)))
    for name, kind, shape, data in items:
        out.write(struct.pack("<QQQQ", len(name) + 1, kind, len(shape), len(data)))
    for name, *_ in items:
        out.write(name.encode() + b"\0")
    for _, _, shape, _ in items:
        out.write(struct.pack(f"<{len(shape)}i", *shape))
    padding = -(out.tell() + 8) % 256
    out.write(struct.pack("<Q", padding) + bytes(padding))
    for *_, data in items:
        out.write(data)
    return out.getvalue()


def archive(tensors: Tensors, settings: bytes) -> bytes:
    """The contents of an .npz."""
    out = BytesIO()
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    characters = np.frombuffer(settings + b"\0", np.int8)
    np.savez(out, **arrays, **{"special:model.yml": characters})
    return out.getvalue()


def vocabulary(texts: Iterable[str] = SENTENCES, rows: int = ROWS - 2) -> bytes:
    """A SentencePiece model with Marian's ids; two rows of the table have no subword."""
    out = BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*texts] * 3), model_writer=out, vocab_size=rows, bos_id=-1,
        eos_id=0, unk_id=1, pad_id=-1, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    return out.getvalue()


def write(folder: Path, kind: str = "student", file: str = "model.enpt.bin") -> Path:
    """A folder with a model of a kind of KINDS and its vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = USUAL | SIZES | KINDS[kind]
    tensors, yaml = tensors_of(settings), yaml_of(settings)
    integers = kind.endswith("integers")
    content = (
        archive(tensors, yaml)
        if file.endswith(".npz")
        else binary(tensors, yaml, integers=integers)
    )
    (folder / file).write_bytes(content)
    (folder / "vocab.enpt.spm").write_bytes(vocabulary())
    (folder / "lex.50.50.enpt.s2t.bin").write_bytes(struct.pack("<Q", 0xF11A48D5013417F5))
    return folder


KINDS: dict[str, dict[str, object]] = {
    "student": STUDENT, "student in integers": STUDENT, "plain": PLAIN, "pre-norm": PLAIN | PRE,
    "pre-norm student": STUDENT | PRE,
}  # fmt: skip


class Reference:
    """Marian's computation, one sentence at a time."""

    def __init__(self, tensors: Tensors, settings: Settings) -> None:
        self.tensors, self.pre = tensors, settings["transformer-preprocess"] == "n"
        self.recurrent = settings["transformer-decoder-autoreg"] == "rnn"
        self.activation = {"relu": F.relu, "swish": F.silu}[
            str(settings["transformer-ffn-activation"])
        ]
        self.attention: list[Tensor] = []

    def logits(self, source: list[int], target: list[int]) -> Tensor:
        """After the empty start and after each token of the target."""
        self.attention = []
        x = self._embedded(torch.tensor(source), 0)
        for layer in range(1, ENCODER + 1):
            x = self._part(f"encoder_l{layer}_self", x, lambda y: self._attend(y, y, None))
            x = self._part(f"encoder_l{layer}_ffn", x, self._feed)
        memory = self._top("encoder", x)
        x = self._embedded(torch.tensor(target, dtype=torch.long), 1)
        for layer in range(1, DECODER + 1):
            name = f"decoder_l{layer}"
            if self.recurrent:
                x = self._part(f"{name}_rnn", x, self._recur)
            else:
                x = self._part(f"{name}_self", x, lambda y: self._attend(y, y, "causal"))
            x = self._part(f"{name}_context", x, lambda y: self._attend(y, memory, None))
            x = self._part(f"{name}_ffn", x, self._feed)
        return (
            self._top("decoder", x) @ self.tensors["Wemb"].T
            + self.tensors["decoder_ff_logit_out_b"]
        )

    def _embedded(self, ids: Tensor, shift: int) -> Tensor:
        """A target is shifted by an embedding of zeros."""
        words = F.pad(self.tensors["Wemb"][ids], (0, 0, shift, 0)) * math.sqrt(DIM)
        half = DIM // 2
        increment = math.log(10000.0) / (half - 1)
        times = torch.arange(half, dtype=torch.float64) * -increment
        angle = torch.arange(len(words), dtype=torch.float64)[:, None] * times.exp()
        return words + torch.cat([angle.sin(), angle.cos()], 1).float()

    def _norm(self, x: Tensor, name: str, suffix: str = "") -> Tensor:
        scale, bias = (self.tensors[f"{name}_ln_{part}{suffix}"][0] for part in ("scale", "bias"))
        return F.layer_norm(x, (DIM,), scale, bias, 1e-6)

    def _top(self, side: str, x: Tensor) -> Tensor:
        return self._norm(x, f"{side}_top") if self.pre else x

    def _part(self, name: str, x: Tensor, compute) -> Tensor:
        self.name = name
        kind = name.rpartition("_")[2]
        normed = name + {"self": "_Wo", "context": "_Wo", "ffn": "_ffn", "rnn": "_ffn"}[kind]
        if self.pre:
            normed = name if kind == "rnn" else normed
            return x + compute(self._norm(x, normed, "_pre"))
        return self._norm(x + compute(x), normed)

    def _linear(self, x: Tensor, letter: str) -> Tensor:
        made = x @ self.tensors[f"{self.name}_W{letter}"]
        return made + self.tensors[f"{self.name}_b{letter}"] if letter else made

    def _feed(self, x: Tensor) -> Tensor:
        return self._linear(self.activation(self._linear(x, "1")), "2")

    def _recur(self, x: Tensor) -> Tensor:
        cell, outputs = torch.zeros(DIM), []
        for given, gate in zip(self._linear(x, ""), self._linear(x, "f").sigmoid(), strict=True):
            cell = gate * cell + (1 - gate) * given
            outputs.append(cell.relu())
        return torch.stack(outputs)

    def _attend(self, x: Tensor, memory: Tensor, mask: str | None) -> Tensor:
        def heads(y: Tensor) -> Tensor:
            return y.unflatten(1, (HEADS, -1)).transpose(0, 1)

        query = heads(self._linear(x, "q"))
        key, value = heads(self._linear(memory, "k")), heads(self._linear(memory, "v"))
        scores = query @ key.transpose(1, 2) / math.sqrt(DIM // HEADS)
        if mask:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)
        weights = scores.softmax(-1)
        self.attention.append(weights)
        return self._linear((weights @ value).transpose(0, 1).flatten(1), "o")


def compressed(content: bytes) -> bytes:
    """The same archive with compressed members."""
    out = BytesIO()
    with (
        zipfile.ZipFile(BytesIO(content)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return out.getvalue()
