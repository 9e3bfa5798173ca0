"""`jumok.from_transformers`: the attention of a model of the library transformers, as a trace.

The library is not imported here: the model and its tokenizer are the user's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from jumok.attention.role import Part
from jumok.errors import DataError, ModelError
from jumok.inspection.findings import TraceFindings
from jumok.inspection.trace import Axis, Site, Step, Trace
from jumok.shapes import Tensor
from jumok.tracing.adapters import LogProbabilities, steps_of
from jumok.tracing.given import given_sites, layers_of, looks_back
from jumok.tracing.request import check_length

MOST_GENERATED = 64
"""The default number of tokens that a model of transformers writes."""

EAGER = (
    'load it with attn_implementation="eager", or call model.set_attn_implementation("eager"): '
    "other implementations do not return the weights"
)


@torch.no_grad()
def from_transformers(
    model: nn.Module,
    tokenizer: Any,
    text: str,
    target: str | None = None,
    *,
    max_new_tokens: int = MOST_GENERATED,
    name: str = "",
) -> Trace:
    """Traces the attention of a model of transformers in a text, for pages, figures and tables.

        model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
        trace = jumok.from_transformers(model, AutoTokenizer.from_pretrained(folder), "The cat")

    The weights are those of `output_attentions=True`. Each step has its five most probable tokens.
    The steps are: for a causal model, every token of the text and its continuation; for an
    encoder-decoder model, the tokens of the output; for a masked model, the gaps of the text,
    written as the mask token of the tokenizer; for a text classifier, the label.

    Args:
        model: a causal model (GPT-2, Llama), an encoder-decoder model (Marian, T5), or an encoder
            (BERT), in evaluation mode and with eager attention.
        target: the continuation, the output, a token for each gap, or the label; None: the output
            that the model generates without sampling (with the beam of its generation config), or
            the most probable one.
        max_new_tokens: the maximum number of generated tokens; 0: a causal model only reads.

    Raises:
        DataError: the text has no token or is too long, or the target does not fit.
        ModelError: not a model of transformers, a model in training mode, or one that does not
            return attention weights.
    """
    config = getattr(model, "config", None)
    if config is None or getattr(config, "model_type", None) is None:
        raise ModelError(
            "this is not a model of transformers.",
            got=type(model).__name__,
            do="jumok.trace and jumok.record take models of jumok; jumok.trace_of takes the "
            "attention weights of any other",
        )
    if model.training:
        raise ModelError(
            "the model is in training mode: its attention weights are those after dropout.",
            do="call model.eval()",
        )
    reader = _TransformersReader(
        model, tokenizer, name or config.name_or_path or type(model).__name__
    )
    if config.is_encoder_decoder:
        return reader.sequences(text, target, max_new_tokens)
    if model.can_generate():  # type: ignore[operator]
        return reader.causal(text, target, max_new_tokens)
    return reader.whole(text, target)


@dataclass(frozen=True)
class _TransformersReader:
    """A model of transformers with its tokenizer."""

    model: Any
    tokenizer: Any
    name: str

    def sequences(self, text: str, target: str | None, most: int) -> Trace:
        """An encoder and a decoder."""
        source = self._encoded(text)
        if target is None:
            written = self._generated(source, most)
        else:
            written = self.tokenizer(text_target=target).input_ids
        start = self.model.config.decoder_start_token_id
        written = _after_start(written, start)
        if not written:
            raise DataError("the target has no token.", got=repr(target))
        ended = written[-1] == self.tokenizer.eos_token_id
        read = [start, *(written[:-1] if ended else written)]
        self._check_length(read)
        out = self._run(source, decoder_input_ids=self._row(read))
        axes = {"source": self._axis(source), "target": self._axis(read, start)}
        sites = [
            *self._sites("encoder", out.encoder_attentions, axes, ("source", "source")),
            *self._sites("decoder", out.decoder_attentions, axes, ("target", "target")),
            *self._sites("cross", out.cross_attentions, axes, ("target", "source")),
        ]
        steps = steps_of(self._named, written, _first_log_probabilities(out.logits)[: len(written)])
        return self._trace("translation", text, self._plain(written), axes, sites, steps)

    def causal(self, text: str, target: str | None, most: int) -> Trace:
        """A causal model: the prompt and its continuation."""
        prompt = self._encoded(text)
        if target is not None:
            more = self.tokenizer(target, add_special_tokens=False).input_ids
        else:
            more = self._generated(prompt, most)[len(prompt) :] if most else []
        read = [*prompt, *more]
        self._check_length(read)
        out = self._run(read)
        axes = {"text": self._axis(read)}
        sites = self._sites("decoder", out.attentions, axes, ("text", "text"))
        # The first token is not predicted; it is START where the tokenizer has one.
        steps = steps_of(self._named, read[1:], _first_log_probabilities(out.logits)[:-1])
        output = self._plain(read)[len(self._plain(prompt)) :]
        findings = TraceFindings(prompt=len(prompt) - 1, own_rows=True)
        return self._trace("language-model", text, output, axes, sites, steps, findings)

    def whole(self, text: str, target: str | None) -> Trace:
        """A model that reads a text as a whole: an encoder, a masked model or a classifier."""
        read = self._encoded(text)
        self._check_length(read)
        out = self._run(read)
        weights = out.attentions
        axes = {"text": self._axis(read)}
        backwards = bool(weights) and all(map(looks_back, layers_of(weights).values()))
        part: Part = "decoder" if backwards else "encoder"
        sites = self._sites(part, weights, axes, ("text", "text"))
        logits = getattr(out, "logits", None)
        if logits is not None and logits.ndim == 2 and logits.shape[1] > 1:
            return self._label(text, target, axes, sites, logits)
        gaps = [place for place, id in enumerate(read) if id == self.tokenizer.mask_token_id]
        if logits is not None and logits.shape[-1] != self.model.config.vocab_size:
            logits = None  # labels of tokens
        if target is not None and not (logits is not None and gaps):
            raise DataError(
                "the model has nothing to write here.",
                expected=f"a text with {self.tokenizer.mask_token}, and a model that fills it",
                got=repr(target),
                do="leave the target out",
            )
        steps: tuple[Step, ...] = ()
        filled: list[int] = []
        if logits is not None and gaps:
            scores = logits[0, gaps].float().log_softmax(dim=-1)
            filled = scores.argmax(dim=1).tolist()
            if target is not None:
                filled = self.tokenizer(target, add_special_tokens=False).input_ids
            if len(filled) != len(gaps):
                raise DataError(
                    "every gap needs its token.",
                    expected=f"{len(gaps)} tokens",
                    got=f"{len(filled)}: {target!r}",
                )
            steps = steps_of(self._named, filled, scores)
        places = dict(zip(gaps, filled, strict=False))
        output = self._plain([places.get(place, id) for place, id in enumerate(read)])
        findings = TraceFindings(gaps=tuple(gaps))
        return self._trace("masked-lm", text, output, axes, sites, steps, findings)

    def _label(
        self,
        text: str,
        target: str | None,
        axes: Mapping[str, Axis],
        sites: Sequence[Site],
        logits: Tensor,
    ) -> Trace:
        labels = [self.model.config.id2label[number] for number in range(logits.shape[1])]
        if target is not None and target not in labels:
            raise DataError("the model has no such label.", expected=", ".join(labels), got=target)
        scores = logits.float().log_softmax(dim=-1)
        label = int(scores.argmax()) if target is None else labels.index(target)
        steps = steps_of(lambda numbers: [labels[each] for each in numbers], [label], scores)
        return self._trace("text-classification", text, labels[label], axes, sites, steps)

    def _encoded(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text).input_ids
        if not set(ids) - self._set_aside():
            raise DataError("the text has no token.", got=repr(text), do="give a word or more")
        return ids

    def _check_length(self, ids: Sequence[int]) -> None:
        limit = getattr(self.model.config, "max_position_embeddings", None)
        if limit:
            check_length(self._text(ids), ids, limit, "a shorter text")

    def _generated(self, ids: Sequence[int], most: int) -> list[int]:
        self._check_length(ids)
        limit = getattr(self.model.config, "max_position_embeddings", None)
        if limit and not self.model.config.is_encoder_decoder:
            most = min(most, limit - len(ids))
        if not most:
            return list(ids)
        read = self._row(ids)
        made = self.model.generate(
            input_ids=read, attention_mask=torch.ones_like(read), max_new_tokens=most,
            do_sample=False,
        )  # fmt: skip
        ids_made: list[int] = made[0].tolist()
        return ids_made

    def _run(self, ids: Sequence[int], decoder_input_ids: Tensor | None = None) -> Any:
        read = self._row(ids)
        decoder = {} if decoder_input_ids is None else {"decoder_input_ids": decoder_input_ids}
        return self.model(
            input_ids=read, attention_mask=torch.ones_like(read), output_attentions=True,
            return_dict=True, **decoder,
        )  # fmt: skip

    def _row(self, ids: Sequence[int]) -> Tensor:
        return torch.tensor([list(ids)], device=next(self.model.parameters()).device)

    def _sites(
        self,
        part: Part,
        weights: Sequence[Tensor | None] | None,
        axes: Mapping[str, Axis],
        ends: tuple[str, str],
    ) -> list[Site]:
        if not weights or all(each is None for each in weights):
            raise ModelError(
                "the model does not return its attention weights.",
                expected='attention computed by the implementation "eager"',
                got=repr(getattr(self.model.config, "_attn_implementation", None)),
                do=EAGER,
            )
        return given_sites(part, layers_of(weights), axes, ends)

    def _trace(
        self,
        task: str,
        text: str,
        output: str,
        axes: Mapping[str, Axis],
        sites: Sequence[Site],
        steps: tuple[Step, ...],
        findings: TraceFindings | None = None,
    ) -> Trace:
        return Trace(
            model=self.name,
            task=task,
            level="weights",
            text=text,
            output=output,
            axes=axes,
            sites=tuple(sites),
            steps=steps,
            findings=findings or TraceFindings(),
        )

    def _set_aside(self, *more: int) -> set[int]:
        """The tokens that belong to no word: START, END, separators and padding."""
        known = self.tokenizer
        names = ("bos", "eos", "cls", "sep", "pad")
        ids = {getattr(known, f"{each}_token_id", None) for each in names} | set(more)
        return {each for each in ids if each is not None}

    def _axis(self, ids: Sequence[int], *start: int) -> Axis:
        """The tokens with their words, which begin where the text has white space."""
        aside = self._set_aside(*start)
        words: list[int | None] = []
        groups: list[list[int]] = []
        before: list[int] = []
        for id in ids:
            if id in aside:
                words.append(None)
                before = []
                continue
            said, now = self._text(before), self._text([*before, id])
            if not before or now[len(said) :][:1].isspace() or said[-1:].isspace():
                groups.append([])
            groups[-1].append(id)
            words.append(len(groups) - 1)
            before.append(id)
        texts = [self._text(group).strip() or "⏎" for group in groups]
        return Axis(tuple(self._named(ids)), tuple(words), tuple(texts))

    def _named(self, ids: Sequence[int]) -> list[str]:
        """Tokens by their names; the names of byte-level subwords are not readable, their text is.

        The space before a word is "▁" as in jumok's own vocabularies.
        """
        return [
            self._name_of(id, name)
            for id, name in zip(ids, self.tokenizer.convert_ids_to_tokens(list(ids)), strict=True)
        ]

    def _name_of(self, id: int, name: str | None) -> str:
        spelt = self._text([id])
        if name is None:  # a row of the embedding table that the tokenizer does not use
            return f"<{id}>"
        readable = spelt.strip() and spelt.isprintable() and "\ufffd" not in spelt
        if not readable or name.replace("▁", " ").strip() == spelt.strip():
            return name
        return spelt.replace(" ", "▁")

    def _plain(self, ids: Sequence[int]) -> str:
        aside = self._set_aside()
        return self._text([id for id in ids if id not in aside]).strip()

    def _text(self, ids: Sequence[int]) -> str:
        text: str = self.tokenizer.decode(list(ids), clean_up_tokenization_spaces=False)
        return text


def _after_start(written: Sequence[int], start: int) -> list[int]:
    """What follows the decoder's START; a tokenizer adds none, and generation keeps it."""
    return list(written[1:] if written and written[0] == start else written)


def _first_log_probabilities(logits: Tensor) -> LogProbabilities:
    """(positions choices)"""
    scores: Tensor = logits[0].float().log_softmax(dim=-1)
    return scores
