"""`jumok evaluate` for language models: the loss and perplexity of unseen text."""

from jumok.bundle.card import Score
from jumok.cli.columns import column_of
from jumok.cli.verbs.evaluate import Evaluation, Judged
from jumok.data.texts.corpus import TextCorpus, documents
from jumok.systems.language_model import LanguageModel, joined_scores


def evaluate_language_model(asked: Evaluation) -> Judged:
    """Loss in nats a token, perplexity and bits per byte of a text, and of each document.

    Raises:
        ConfigError: --data is missing.
        DataError: the file cannot be read, or there is no text in it.
    """
    file = asked.needs_data()
    system: LanguageModel = asked.load("generate")
    corpus = TextCorpus(file, column_of(asked.columns.split(",")[0]))
    texts = list(documents(corpus, system.documents))
    scored = system.score(texts, batch_size=asked.machine.batch)
    whole = joined_scores(scored)
    half = system.context // 2
    on = f"{file.name}, {len(whole.tokens):,} tokens, each after all before it or {half} or more"
    scores = (
        Score("loss", whole.loss, signature="nats per token, END counted", on=on),
        Score("perplexity", whole.perplexity, signature="exp(loss)", on=on),
        Score("bits per byte", whole.bits_per_byte, signature="UTF-8 in NFC", on=on),
    )
    outputs = [f"{one.loss:.6f}\t{one.bits_per_byte:.6f}" for one in scored]
    documents_read = "1 document" if len(texts) == 1 else f"{len(texts):,} documents"
    return Judged(scores, outputs, documents_read, columns=("loss", "bits_per_byte"))
