"""Pages that answer 200 and are no evidence: login walls, cookie notices, soft 404s, empty shells (R6, case 25)."""

from __future__ import annotations

import re

SHORT_CHARACTERS = 900
"""Only a text this short is judged by its phrases: an article about cookies is an article."""
SHELL_CHARACTERS = 40
"""A scripted page with less text than this has not been rendered."""

_PHRASES = (
    (
        "a soft 404: the page says that it does not exist",
        r"\b(?:page|article|content|document|url|resource)\b[^.\n]{0,40}\b(?:"
        r"not (?:be )?found|does(?:n['’]t| not) exist|no longer (?:exists?|available)|"
        r"has been (?:removed|deleted)|can['’]?t be found|cannot be found)\b"
        r"|\b(?:error|http|code)\s*[:-]?\s*404\b|^\s*404\b|\b404\s*(?:[-–|:]\s*)?(?:error|not found|page)",
    ),
    (
        "a check for robots instead of the page",
        r"verify(?:ing)? (?:that )?you are (?:a )?human|are you a robot|unusual traffic|checking your browser|"
        r"just a moment\W*$|enable cookies to continue|ddos protection by|complete the captcha|"
        r"security check to access|attention required|pardon our interruption|"
        r"access (?:to this page has been )?denied|request (?:was )?blocked",
    ),
    (
        "a plea for JavaScript instead of the page",
        r"(?:enable|turn on|requires?|needs?|without) javascript|javascript (?:is )?(?:required|disabled|not enabled)|"
        r"javascript (?:to be|must be) enabled",
    ),
    (
        "a login wall: the text is for those who sign in",
        r"(?:please )?(?:log|sign)[ -]?in (?:to|or)\b[^.\n]{0,40}\b(?:continue|read|view|access|register|sign up|"
        r"subscribe|account)|(?:subscribe|register|create an? (?:free )?account) to (?:continue|read|view|unlock|keep)|"
        r"forgot(?:ten)? (?:your )?password|already (?:a (?:subscriber|member)|have an account)|"
        r"(?:subscribers|members) only",
    ),
    (
        "a cookie notice instead of the page",
        r"(?:we|this (?:web)?site|our partners)\b[^.\n]{0,60}\buses? cookies|accept (?:all )?cookies|"
        r"(?:manage|your) (?:cookie|privacy) (?:settings|preferences|choices)|cookie (?:policy|consent)",
    ),
)
_COMPILED = tuple((words, re.compile(pattern, re.IGNORECASE | re.MULTILINE)) for words, pattern in _PHRASES)
_TITLES = re.compile(
    r"^\s*(?:error\s*)?404\b|\bpage not found\b|^\s*not found\s*$|^\s*just a moment|^\s*attention required|"
    r"^\s*access denied\s*$|^\s*(?:log|sign)[ -]?in\s*$|^\s*are you a robot",
    re.IGNORECASE,
)


def junk_reason(title: str, text: str, *, scripted: bool = False) -> str:
    """Why a page is no evidence, as a sentence; '' for a page with something to read.

    A text of 900 characters or more is always something to read. In a shorter one, what junk says of itself must
    stand in the title or make up most of the text, so that a short note that mentions cookies is kept.
    """
    letters = sum(1 for character in text if character.isalnum())
    if not letters:
        return "The page holds no text" + (": it is drawn by JavaScript." if scripted else ".")
    if len(text) >= SHORT_CHARACTERS:
        return ""
    if _TITLES.search(title):
        return f"The page is no evidence: its title says “{title}”."
    for words, pattern in _COMPILED:
        if _share(pattern, text) >= 0.5:
            return f"The page is {words}."
    if scripted and len(text) < SHELL_CHARACTERS and re.match(r"\W*(?:loading|please wait)\b", text, re.IGNORECASE):
        return "The page holds no text: it is drawn by JavaScript."
    return ""


def _share(pattern: re.Pattern[str], text: str) -> float:
    """The share of the text's characters that stand in sentences with one of the phrases."""
    sentences = [sentence for sentence in re.split(r"(?<=[.!?])\s+|\n+", text) if sentence.strip()]
    said = sum(len(sentence) for sentence in sentences if pattern.search(sentence))
    return said / max(sum(len(sentence) for sentence in sentences), 1)
