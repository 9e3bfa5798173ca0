"""Korean for Sphinx's search: a word is found without its particle, as 어텐션 in 어텐션은.

Words of the pages and of the query lose the particle at their end by the same list, here and in
the browser, so both meet at the noun. Compounds are found by their beginning.
"""

import json
import re

from sphinx.search import SearchLanguage

PARTICLES = (
    "은|는|이|가|을|를|의|에|에서|에게|에는|에도|에만|에서는|에서도|와|과|로|으로|로는|으로는|로도|으로도|로만"
    "|으로만|도|만|부터|부터는|까지|까지는|보다|처럼|마다|나|이나|라고|이라고|라는|이라는|란|이란|입니다|이고"
    "|이며|이면|인|이다|이라|들|들은|들이|들을|들의|들에|만큼|뿐|대로|한테|께|하고"
)
SUFFIX = re.compile(f"^(.*?[가-힣]{{2}}[가-힣]*?|[A-Za-z0-9_]+?)(?:{PARTICLES})$")
"""A noun of two syllables or more, or a Latin word, and the longest particle after it."""


class Korean(SearchLanguage):
    """The words of Korean and English text; English ones are found as they are."""

    lang = "ko"
    language_name = "Korean"
    js_stemmer_code = f"""
const particle = {json.dumps(SUFFIX.pattern, ensure_ascii=False)};
var Stemmer = function () {{
  const ending = new RegExp(particle, "u");
  this.stemWord = (word) => (word.match(ending) ?? [word, word])[1];
}};
"""

    def stem(self, word: str) -> str:
        found = SUFFIX.match(word)
        return (found[1] if found else word).lower()

    def word_filter(self, word: str) -> bool:
        return super().word_filter(word) and (len(word) > 1 or "가" <= word <= "힣")
