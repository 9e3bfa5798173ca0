"""Where the alignments of a model are extracted."""

from dataclasses import dataclass


@dataclass(frozen=True)
class AlignmentSetting:
    """Where alignments are extracted.

    Attributes:
        layer: of the decoder's cross-attentions, from 0.
        at_input: True: at the step that reads a token; False: at the step that writes it.
        head: from 0; None: all heads together.
        norms: by the norm of the attended value, | weight value W_O |, not by the weight alone.
    """

    layer: int
    at_input: bool
    head: int | None = None
    norms: bool = False


def default_setting(layers: int) -> AlignmentSetting | None:
    """The setting for a model that was not measured: the last layer but one, writing step.

    Source: Garg et al. 2019, Jointly learning to align and translate, section 3.
    """
    return AlignmentSetting(max(0, layers - 2), at_input=False) if layers else None
