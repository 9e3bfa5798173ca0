"""The tables of words of a translator: of sources, of targets, and of what is predicted."""

from collections.abc import Iterator
from dataclasses import dataclass

from jumok.interop.rows import OutputBias, TensorRow, VocabularyRows

Aliases = dict[str, tuple[str, ...]]

TIED = {
    (True, True): "all",
    (True, False): "inputs",
    (False, True): "target",
    (False, False): "none",
}
"""The key `tied` of [model], by whether sources and targets share a table, and targets and output.
"""


@dataclass(frozen=True)
class WordTables:
    """The names of the tensors there.

    Attributes:
        bias: that of the output.
    """

    source: str
    target: str
    output: str
    bias: str = ""

    def aliases(self, inputs: bool, output: bool) -> Aliases:
        """The names of tables that are one.

        Args:
            inputs: whether sources and targets share it.
            output: whether targets and the output do.
        """
        if inputs:
            return {self.source: (self.target, self.output) if output else (self.target,)}
        return {self.target: (self.output,)} if output else {}

    def rows(self, aliases: Aliases, *, stored: bool, biased: bool) -> Iterator[TensorRow]:
        """The rows of the tables, and of the output's bias.

        Args:
            stored: whether the bias is there.
            biased: whether it is here.
        """
        same = {name for names in aliases.values() for name in names}
        for name, here, of_source in (
            (self.source, "encoder.embedding.table", True),
            (self.target, "decoder.embedding.table", False),
            (self.output, "decoder.output.weight", False),
        ):
            if name not in same:
                yield TensorRow((name,), (here,), (VocabularyRows(of_source),))
        if biased:
            there, how = ((self.bias,), OutputBias((-1,))) if stored else ((), OutputBias(None))
            yield TensorRow(there, ("decoder.output.bias",), (how,))
