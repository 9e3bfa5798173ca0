"""Translation of a batch of segments: search, constraints, terms."""

from collections.abc import Sequence
from dataclasses import dataclass

from jumok.attention.events import unheard
from jumok.decoding import DecodingOptions
from jumok.decoding.limits import Prefixes
from jumok.systems.translation.drafts import Drafting
from jumok.systems.translation.kept.keeping import Keep, Kept
from jumok.systems.translation.kept.search import KeptSearch
from jumok.systems.translation.result import Draft, Translation
from jumok.systems.translation.searching import ReadSources, Searcher
from jumok.systems.translation.segments import Segment
from jumok.systems.translation.stricter import search_stricter
from jumok.systems.translation.terms.glossary import Glossary
from jumok.systems.translation.terms.placing import TermPlacer


@dataclass(frozen=True)
class PartWriter:
    """Writes the translations of the segments of one call of `translate`.

    If what the search finds is empty, repeats itself, or is far too long or short, the segment is
    searched again, so that it is not; then what is kept is completed, and the glossary's terms
    replace the words that translate them.

    Attributes:
        keep: None: what the models write is left as it is.
    """

    drafting: Drafting
    alignments: bool
    keep: Keep | None
    glossary: Glossary | None

    def write(
        self,
        parts: Sequence[Segment],
        searcher: Searcher,
        read: ReadSources,
        options: DecodingOptions,
        prefixes: Prefixes | None,
    ) -> list[list[Draft]]:
        """For each segment its drafts, best first; the searcher has read them."""
        draft = self.drafting.draft
        drafts = [[draft(each) for each in of_part] for of_part in read.search(options, prefixes)]
        kept = [self.keep.find(part.text) if self.keep else [] for part in parts]
        with unheard():  # a recording has the first search, and reads what becomes of it
            if self.keep:
                search_stricter(self.drafting.judge, draft, parts, drafts, read, options, prefixes)
            if self.keep and any(kept):
                search = KeptSearch(self.keep, self.drafting)
                search.complete(parts, kept, drafts, searcher, read, options, prefixes)
            if self.glossary is not None:
                self._place_terms(self.glossary, parts, kept, drafts, searcher, read)
        return drafts

    def translations(
        self, parts: Sequence[Segment], read: ReadSources, drafts: Sequence[Sequence[Draft]]
    ) -> list[list[Translation]]:
        """The drafts as translations, aligned if that was requested."""
        return self.drafting.translations(parts, read, drafts, self.alignments)

    def _place_terms(
        self,
        glossary: Glossary,
        parts: Sequence[Segment],
        kept: Sequence[Sequence[Kept]],
        drafts: list[list[Draft]],
        searcher: Searcher,
        read: ReadSources,
    ) -> None:
        """Replaces the words that translate terms; terms inside of kept strings are none."""
        places = [
            [
                each
                for each in glossary.find(part.text)
                if not any(one.start < each.end and each.start < one.end for one in its)
            ]
            for part, its in zip(parts, kept, strict=True)
        ]
        rows = [row for row, its in enumerate(places) if its]
        if not rows:
            return
        these, of_rows = [parts[row] for row in rows], [drafts[row] for row in rows]
        placer = TermPlacer(self.drafting, searcher, self.keep)
        changed = placer.place(these, [places[row] for row in rows], of_rows)
        self.drafting.score_again([(rows[place], draft) for place, draft in changed], read)
        for row in rows:
            drafts[row].sort(key=lambda draft: (len(draft.missing_terms), -draft.hypothesis.score))
            by_text = {draft.text: draft for draft in reversed(drafts[row])}
            drafts[row] = list(reversed(by_text.values()))
