"""Searches for translations with what is kept of their sources."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jumok.alignment.words import Link
from jumok.data.tokenizer import plain_words
from jumok.decoding import DecodingOptions, Hypothesis
from jumok.decoding.constraints import Constraints, Phrase
from jumok.decoding.limits import Prefixes
from jumok.documents.segment import has_word
from jumok.systems.translation.drafts import Drafting
from jumok.systems.translation.kept.inserting import (
    corrected,
    without_code,
    without_tail,
    words_beside,
)
from jumok.systems.translation.kept.keeping import (
    DIGITS,
    Keep,
    Kept,
    missing_in,
    remains_in,
    separated,
    surplus_in,
)
from jumok.systems.translation.result import Draft, Translation
from jumok.systems.translation.searching import ReadSources, Searcher
from jumok.systems.translation.segments import Segment
from jumok.systems.translation.spelling import spelling

MOST_FORCED = 48  # a segment that must keep more, such as a row of numbers, is not searched again
LENGTH_STEP = 4  # segments whose length limits differ by less are searched together


@dataclass(frozen=True)
class KeptSearch:
    """Sees to it that drafts have what is kept of their sources.

    If a number is missing in what the search has found, the segment is searched again, with
    constraints; if other kept strings are, without them in it. What is still missing is inserted
    where the alignment puts it, and what was changed is scored again.
    """

    keep: Keep
    drafting: Drafting

    def complete(
        self,
        parts: Sequence[Segment],
        kept: Sequence[list[Kept]],
        drafts: list[list[Draft]],
        searcher: Searcher,
        read: ReadSources,
        options: DecodingOptions,
        prefixes: Prefixes | None,
    ) -> None:
        """Sees to it that the drafts have what is kept of their sources.

        A model that does not copy code is only confused by it: where a draft lacks some, the source
        is read without it.
        """
        bare, wanted, clear = list(parts), list(kept), read
        for row, its in enumerate(kept):
            codes = [one for one in its if one.kind == "code"]
            text = without_code(parts[row].text, codes)
            if any(missing_in(codes, draft.text) for draft in drafts[row]) and has_word(text):
                bare[row] = replace(parts[row], text=text, ids=self.drafting.tokenizer.encode(text))
                wanted[row] = [one for one in self.keep.find(text) if one.kind != "code"]
        rows = [row for row, part in enumerate(parts) if bare[row] is not part]
        if rows:
            clear = searcher.read([part.ids for part in bare])
            begun = None if prefixes is None else [prefixes[row] for row in rows]
            for row, found in zip(rows, clear.select(rows).search(options, begun), strict=True):
                drafts[row] = [self.drafting.draft(each) for each in found]
        self._search_again(bare, wanted, drafts, clear, options, prefixes)
        self._insert(parts, kept, drafts, read, bare, clear)
        read.left.update(clear.left)

    def _search_again(
        self,
        parts: Sequence[Segment],
        kept: Sequence[Sequence[Kept]],
        drafts: list[list[Draft]],
        read: ReadSources,
        options: DecodingOptions,
        prefixes: Prefixes | None,
    ) -> None:
        """Searches again for the segments that lack a string that the vocabulary can spell."""
        limits = options.limits
        room = [limits.longest_of(len(part.ids) + 1) for part in parts]
        groups: dict[int, list[tuple[int, Constraints, tuple[str, ...]]]] = {}
        for row, part in enumerate(parts):
            phrases, names = self._wanted(part.text, kept[row], drafts[row])
            needed = sum(min(map(len, phrase)) for phrase in phrases)
            most = min(MOST_FORCED, room[row])
            if not names or options.sample or needed > most:
                continue
            # a longer one would postpone strings that the model finds improbable
            length = len(drafts[row][0].hypothesis.tokens) + needed
            most = min(length + -length % LENGTH_STEP, room[row])
            groups.setdefault(most, []).append((row, phrases, names))
        for most, group in groups.items():
            rows = [row for row, _, _ in group]
            least = min(options.minimum_length, most)
            searched = read.select(rows).search(
                replace(options, maximum_length=most, minimum_length=least),
                None if prefixes is None else [prefixes[row] for row in rows],
                [phrases for _, phrases, _ in group],
            )
            if prefixes is None:
                self._search_in_place(parts, kept, drafts, read, options, most, group, searched)
            for (row, _, names), hypotheses in zip(group, searched, strict=True):
                hypotheses.sort(key=lambda one: (not one.finished, -one.score))
                first: dict[str, Draft] = {}
                for each in hypotheses:
                    draft = self.drafting.draft(each, names)
                    first.setdefault(draft.text, draft)
                drafts[row] = list(first.values())[: options.nbest]

    def _search_in_place(
        self,
        parts: Sequence[Segment],
        kept: Sequence[Sequence[Kept]],
        drafts: Sequence[Sequence[Draft]],
        read: ReadSources,
        options: DecodingOptions,
        most: int,
        group: Sequence[tuple[int, Constraints, tuple[str, ...]]],
        searched: Sequence[list[Hypothesis]],
    ) -> None:
        """Adds hypotheses that continue the best draft up to where the alignment puts the first
        missing string, and this string: a narrow beam would write it last.
        """
        if not self.drafting.aligns:
            return
        rows = [row for row, _, _ in group]
        here = read.select(rows)
        best = [[drafts[row][0]] for row in rows]
        aligned = self.drafting.translations([parts[row] for row in rows], here, best, True)
        places, begun = [], []
        for place, (row, phrases, _) in enumerate(group):
            needed = sum(min(map(len, phrase)) for phrase in phrases)
            beginning = self._beginning(
                parts[row].text, kept[row], drafts[row][0], aligned[place][0]
            )
            if beginning and len(beginning) + needed <= most:
                places.append(place)
                begun.append(beginning)
        if not places:
            return
        more = here.select(places).search(
            replace(options, maximum_length=most, minimum_length=0),
            begun,
            [group[place][1] for place in places],
        )
        for place, hypotheses in zip(places, more, strict=True):
            searched[place].extend(hypotheses)

    def _beginning(
        self,
        source: str,
        kept: Sequence[Kept],
        draft: Draft,
        translation: Translation,
    ) -> list[int]:
        """A draft up to where the first missing string belongs, and the string; or nothing."""
        missing_phrases = [
            (one.start, phrase)
            for one in missing_in(kept, draft.text)
            if (phrase := self._spelt(one, source))
        ]
        places = []
        for start, phrase in missing_phrases:
            word = len(plain_words(source[: start + 1])) - 1
            linked = [target for its, target in translation.alignment or () if its == word]
            if linked:
                places.append((min(linked), phrase[0]))
        if not places:
            return []
        word, tokens = min(places)
        words = self.drafting.tokenizer.words(draft.hypothesis.tokens)
        before = [
            token for token, its in zip(draft.hypothesis.tokens, words, strict=True) if its < word
        ]
        return [*before, *tokens]

    def _wanted(
        self, source: str, kept: Sequence[Kept], drafts: Sequence[Draft]
    ) -> tuple[list[Phrase], tuple[str, ...]]:
        """What a second search must write, and what of it some draft lacks; empty if none does."""
        absent = {one for draft in drafts for one in missing_in(kept, draft.text)}
        spelt = [(one, phrase) for one in kept if (phrase := self._spelt(one, source))]
        # A single digit is rather inserted: a model may know only the words for it.
        names = [one.text for one, _ in spelt if one in absent and one.text not in DIGITS]
        if not names:
            return [], ()
        phrases = [phrase for one, phrase in spelt if one in absent or one.kind == "code"]
        return phrases, tuple(names)

    def _spelt(self, one: Kept, source: str) -> Phrase | None:
        glued = one.start > 0 and source[one.start - 1] != " "
        return spelling(
            one.text, self.drafting.tokenizer.target.plain, inside=glued or self.drafting.spaceless
        )

    def _insert(
        self,
        parts: Sequence[Segment],
        kept: Sequence[Sequence[Kept]],
        drafts: list[list[Draft]],
        read: ReadSources,
        bare: Sequence[Segment],
        clear: ReadSources,
    ) -> None:
        """Inserts what is still missing, and removes code that appears too often.

        Args:
            bare, clear: the segments as they were read for the drafts.
        """
        rows = [
            row
            for row, of_part in enumerate(kept)
            if any(_faulty(of_part, parts[row].text, draft.text) for draft in drafts[row])
        ]
        if not rows:
            return
        these, of_rows = [bare[row] for row in rows], [drafts[row] for row in rows]
        plain = self.drafting.translations(these, clear.select(rows), of_rows, True)
        changed: list[tuple[int, Draft]] = []
        for row, translations in zip(rows, plain, strict=True):
            source, alone = parts[row].text, bare[row] is not parts[row]
            words = dict(enumerate(words_beside(source, kept[row]))) if alone else {}
            for draft, translation in zip(drafts[row], translations, strict=True):
                if _faulty(kept[row], source, draft.text):
                    links = translation.alignment
                    if links and alone:
                        moved = ((words.get(its, -1), to) for its, to in links)
                        links = tuple(link for link in moved if link[0] >= 0)
                    self._correct(source, kept[row], draft, links)
                    changed.append((row, draft))
        self.drafting.score_again(changed, read)
        for row in rows:
            drafts[row].sort(key=lambda draft: -draft.hypothesis.score)

    def _correct(
        self,
        source: str,
        kept: Sequence[Kept],
        draft: Draft,
        alignment: Sequence[Link] | None,
    ) -> None:
        draft.text = without_tail(source, kept, separated(kept, source, draft.text))
        missing = missing_in(kept, draft.text)
        inserted = tuple(one.text for one in missing)
        extra = sorted([*surplus_in(kept, draft.text), *remains_in(missing, kept, draft.text)])
        draft.text = corrected(source, draft.text, kept, extra, alignment, self.drafting.spaceless)
        draft.forced = tuple(each for each in draft.forced if each not in inserted)
        draft.inserted = inserted


def _faulty(kept: Sequence[Kept], source: str, text: str) -> bool:
    faults = missing_in(kept, text) or surplus_in(kept, text)
    return bool(faults) or without_tail(source, kept, separated(kept, source, text)) != text
