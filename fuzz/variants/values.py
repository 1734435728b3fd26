"""Values of variants as users write them."""

from __future__ import annotations

from strategies.contract import ContractError

LARGEST = 1_000_000


def whole(text: str, what: str, least: int = 1) -> str:
    """The canonical spelling of a whole number; ContractError for what is none."""
    if not text.isdecimal() or not least <= int(text) <= LARGEST:
        raise ContractError(f"{text or 'nothing'} is no {what}: use a whole number from {least} to {LARGEST:,}")
    return str(int(text))
