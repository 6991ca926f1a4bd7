"""Other accelerators to plan with, as text: `h100_sxm 2.5, b200_sxm 6`, each a preset's name and its price per device-hour."""

from bsmath import checks, presets, quantities

MOST_TEXT, MOST_OFFERS = 500, 8


def read(text: str) -> dict[str, float | None]:
    """Accelerator -> price of one device for one hour, None where it is not stated; a ValueError names what is wrong."""
    if len(text) > MOST_TEXT:
        raise ValueError(f"other_offers must have at most {MOST_TEXT} characters, got {len(text):,}")
    found = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, price = part.partition(" ")
        if name not in presets.hardware():
            raise ValueError(
                f"other_offers must name accelerators ({', '.join(presets.hardware())}), got {name[:60]!r}"
            )
        try:
            found[name] = checks.between("price", quantities.parse_number(price), 0, 1e4) if price.strip() else None
        except ValueError:
            raise ValueError(
                f"other_offers must state prices from 0 to 10000 such as 'h100_sxm 2.5', got {part[:60]!r}"
            ) from None
    if len(found) > MOST_OFFERS:
        raise ValueError(f"other_offers must name at most {MOST_OFFERS} accelerators, got {len(found)}")
    return found


def write(offered: dict[str, float | None]) -> str:
    """The text that `read` reads as these offers."""
    return ", ".join(name if price is None else f"{name} {price:.10g}" for name, price in offered.items())


def checked(text) -> str:
    """The text if it can be read or is empty, else a TypeError or ValueError."""
    if not isinstance(text, str):
        raise TypeError(f"other_offers must be text, got {text!r}")
    text = " ".join(text.split())
    read(text)
    return text
