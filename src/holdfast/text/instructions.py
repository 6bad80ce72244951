"""Whether a person says how things are to be done from now on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.text.folding import fold
from holdfast.text.sentences import sentences

#: so many sentences are looked at, and so much of each
_SENTENCES_READ = 200
_OPENING_READ = 240

# What may stand before an instruction: a bullet, a number, a courtesy.
_BEFORE = (
    r"(?:[-*>#\d.)\s]*)"
    r"(?:(?:please|pls|ok|okay|and|also|but|so|hey|hi|note|important|remember|rule|bitte|und|aber|"
    r"s'il (?:te|vous) plait|por favor|merci de|et|y)[\s,:!-]+){0,3}"
)
# After "never" and "always" an instruction goes on with a verb in its plain form.
_TOLD_INSTEAD = """
mind been seen heard had thought knew known was were did said met got gotten again too ever felt found
gave went came took made a an the my happy glad good nice great fun so such is are has work works worth
here there will would could in up saw wrote ate told left kept lost won spoke ran sat bought brought
forgot understood meant
"""
_PLAIN_FORM = (
    rf"(?!(?:{'|'.join(_TOLD_INSTEAD.split())}|give up)\b)"
    r"(?!(?!need|feed|embed|seed|exceed|proceed|succeed|speed|shed|bleed|breed)\w+ed\b)"
    r"(?!(?!bring|ping|sing|string)\w+ing\b)\w"
)
_DO = (
    r"(?:please|always|never|do|don't|dont|use|avoid|make|keep|ask|write|answer|run|check|add|remember)"
    r"\b"
)
_ENGLISH = (
    rf"(?:always|never(?: ever)?) {_PLAIN_FORM}",
    rf"you (?:must|should|shall|need to|have to) (?:always|never) {_PLAIN_FORM}",
    r"from (?:now|here|today|this point)(?: on| onwards?| forward)\b",
    r"(?:going|moving) forward\b",
    rf"in (?:the )?future,? (?:you\b|{_DO})",
    r"(?:don't|dont|do not) (?:you )?ever\b",
    r"(?:don't|dont|do not)\b[^?]{1,160}\b(?:again|anymore|any more)[.!]*$",
    r"under no circumstances\b",
    r"no matter what,? (?:always|never|do)\b",
    rf"(?:whenever|every time|each time) (?:you|i|we)\b[^?]*,? {_DO}",
    r"(?:make sure|be sure|remember|try)(?: to| that you| you)? (?:always|never)\b",
    r"i(?:'d| would)? (?:want|need|expect|like) you to (?:always|never)\b",
    r"i(?:'d| would)? (?:prefer|rather|like it)(?: it)?(?: that| if| when)? you\b",
    rf"(?:as a rule|by default),? {_DO}",
)
_GERMAN = (
    r"(?:immer|niemals|nie(?: wieder)?) \w",
    r"(?:ab (?:jetzt|sofort|heute)|von (?:nun|jetzt) an|kunftig|in zukunft)\b",
    r"ich (?:mochte|will|bitte), dass du\b",
)
_FRENCH = (
    r"(?:toujours|jamais) \w",
    r"(?:ne |n')[^?]{1,60}\bjamais\b",
    r"(?:desormais|dorenavant|a l'avenir|a partir (?:de maintenant|d'aujourd'hui))\b",
    r"je (?:veux|prefere) que (?:tu|vous)\b",
)
_SPANISH = (
    r"(?:siempre|nunca|jamas|sempre) \w",
    r"(?:a partir de (?:ahora|agora)|de (?:ahora|agora) e[nm] (?:adelante|diante)|en adelante)\b",
    r"(?:prefiero|quiero) que (?:siempre|nunca)\b",
)
_HAN_AND_KANA = (
    r"[请請]?你?(?:总是|總是|始终|始終|永远|永遠|务必|務必|一律|绝不|絕不|绝对不要|千万不要|不要再|别再)",
    r"[从從](?:现在|現在|今)(?:起|开始|開始|以后)",
    r"(?:以后|以後|今后|今後)[,\s]*(?:请|請|都|不要|别|要|你|一律)",
    r"必ず|常に|今後は|これからは|絶対に",
)
_OPENINGS = "|".join((*_ENGLISH, *_GERMAN, *_FRENCH, *_SPANISH, *_HAN_AND_KANA))
_OPENING = re.compile(f"{_BEFORE}(?:{_OPENINGS})")
# A question asks; with "ok?" at its end it tells all the same.
_ASKING = re.compile(r"(?<!ok)(?<!okay)(?<!alright)(?<!please)(?<!right)\s?\?\W*$")


def standing(text: str) -> bool:
    """Whether a sentence of the text opens as a standing instruction does; a question is none."""
    return next(told(text), None) is not None


def told(text: str) -> Iterator[str]:
    """The sentences of a text that open as standing instructions do."""
    return filter(_tells, sentences(text)[:_SENTENCES_READ])


def _tells(sentence: str) -> bool:
    opening = " ".join(fold(sentence[:_OPENING_READ]).lower().split())
    if len(sentence) <= _OPENING_READ and _ASKING.search(opening):
        return False
    return _OPENING.match(opening) is not None
