"""Train, valid or test: decided by the text itself, so a document and its copies are always on the same side."""

from __future__ import annotations

import hashlib

Fractions = tuple[float, float, float]
FRACTIONS: Fractions = (0.9, 0.05, 0.05)


def share(text: str, purpose: str = "split") -> float:
    """A number in [0, 1) that depends on the text alone, white space at its ends aside."""
    content = text.strip().encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(content, digest_size=8, person=purpose.encode()[:16]).digest()
    return (int.from_bytes(digest, "little") >> 11) / 2**53  # 53 bits: a float that is never rounded up to 1


def split_of(text: str, fractions: Fractions = FRACTIONS) -> str:
    """ "train", "valid" or "test"."""
    place = share(text) * sum(fractions)
    if place < fractions[0]:
        return "train"
    return "valid" if place < fractions[0] + fractions[1] or fractions[2] == 0 else "test"
