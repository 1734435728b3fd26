"""Values of variants as users write them."""

from __future__ import annotations

from collections.abc import Callable

from strategies.contract import ContractError

LARGEST = 1_000_000


def whole(text: str, what: str, least: int = 1) -> str:
    """The canonical spelling of a whole number; ContractError for what is none."""
    if not text.isdecimal() or not least <= int(text) <= LARGEST:
        raise ContractError(f"{text or 'nothing'} is no {what}: use a whole number from {least} to {LARGEST:,}")
    return str(int(text))


def counted(what: str, least: int = 1) -> Callable[[str], str]:
    """For families whose value is a whole number."""
    return lambda text: whole(text, what, least)


def one_of(*choices: str) -> Callable[[str], str]:
    """For families whose value is one of a few words."""

    def canonical(text: str) -> str:
        if text not in choices:
            raise ContractError(f"{text or 'nothing'} is none of its values: use one of {', '.join(choices)}")
        return text

    return canonical


def none(text: str) -> str:
    """For families without values; ContractError where one is given."""
    if text:
        raise ContractError("it has no value: leave out the brackets")
    return text
