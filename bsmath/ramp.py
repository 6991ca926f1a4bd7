"""A batch ramp: the batch against the tokens seen, as pieces whose steps are known in closed form.

    flat            B                            steps = T / B
    linear in tokens  B0 + (B1 - B0) D/T         steps = T / (B1 - B0) ln(B1/B0)
    linear in steps   B^2 linear in D            steps = 2 T / (B0 + B1)
    power             B0 (D/D0)^p                steps = (D1/B1 - D0/B0) / (1 - p),  p = ln(B1/B0) / ln(D1/D0)

Derived: the steps of a piece are the integral of dD/B over its tokens. Everything is in tokens, D and B alike, so that a ramp
means the same whatever the batch; steps follow from it. A ramp has no end: its last piece is flat.
"""

from dataclasses import dataclass

import numpy as np

TOKENS, STEPS, POWER = "tokens", "steps", "power"
"""Shapes of a piece: linear in tokens (flat where both ends are equal), linear in steps, a power of the tokens seen."""
NEARLY = 1e-9
"""Relative difference of both ends, or of a power from 1, below which a formula's limit is used."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ramp:
    """Pieces one after another; arrays of one length."""

    tokens: np.ndarray
    """Where each piece begins, ascending from 0; the last one never ends. [tokens]"""
    first: np.ndarray
    """Batch at the beginning of each piece. [tokens]"""
    last: np.ndarray
    """Batch at its end; that of the last piece is its first. [tokens]"""
    shape: tuple[str, ...]
    """Shape of each piece."""

    @property
    def length(self) -> float:
        """Tokens after which the batch stays. [tokens]"""
        return float(self.tokens[-1])

    @property
    def end(self) -> float:
        """The batch that stays. [tokens]"""
        return float(self.last[-1])

    @property
    def largest(self) -> float:
        """[tokens]"""
        return float(max(self.first.max(), self.last.max()))

    @property
    def smallest(self) -> float:
        """[tokens]"""
        return float(min(self.first.min(), self.last.min()))

    def at(self, tokens):
        """The batch after so many tokens; at a threshold the new one. [tokens]"""
        seen = np.asarray(tokens, float)
        piece = self._piece(seen)
        return self._within(piece, seen)[()]

    def steps(self, tokens):
        """Steps to so many tokens, the exact integral of dD/B. [steps]"""
        seen = np.asarray(tokens, float)
        piece = self._piece(seen)
        done = self._steps_of(piece, seen, self._within(piece, seen))
        return (self._steps_before[piece] + done)[()]

    def tokens_after(self, steps):
        """Tokens seen after so many steps, the inverse of `steps`. [tokens]"""
        wanted = np.asarray(steps, float)
        piece = np.clip(np.searchsorted(self._steps_before, wanted, side="right") - 1, 0, len(self.tokens) - 1)
        return self._tokens_of(piece, wanted - self._steps_before[piece])[()]

    @property
    def _steps_before(self) -> np.ndarray:
        """Steps up to the beginning of each piece."""
        piece = np.arange(len(self.tokens) - 1)
        whole = self._steps_of(piece, self.tokens[1:], self.last[:-1]) if len(piece) else np.array([])
        return np.concatenate([[0.0], np.cumsum(whole)])

    def _piece(self, seen: np.ndarray) -> np.ndarray:
        return np.clip(np.searchsorted(self.tokens, seen, side="right") - 1, 0, len(self.tokens) - 1)

    def _ends(self, piece):
        """Tokens and batches at both ends of pieces; the open end of the last lies one unit further."""
        after = np.append(self.tokens[1:], self.tokens[-1] * 2 + 1)
        return self.tokens[piece], after[piece], self.first[piece], self.last[piece]

    def _is(self, piece, shape: str) -> np.ndarray:
        return np.array([each == shape for each in self.shape])[piece]

    def _within(self, piece, seen) -> np.ndarray:
        start, stop, low, high = self._ends(piece)
        share = (seen - start) / (stop - start)
        linear = low + (high - low) * share
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(low**2 + (high**2 - low**2) * share)
            power = low * (seen / start) ** self._exponent(piece)
        return np.where(self._is(piece, STEPS), root, np.where(self._is(piece, POWER), power, linear))

    def _exponent(self, piece) -> np.ndarray:
        start, stop, low, high = self._ends(piece)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(
                self._is(piece, POWER), np.log(high / low) / np.log(stop / np.where(start > 0, start, np.nan)), 0.0
            )

    def _steps_of(self, piece, seen, batch) -> np.ndarray:
        """Steps from the beginning of pieces to these tokens, where the batch is this."""
        start, _, low, _ = self._ends(piece)
        length = seen - start
        flat = length / low
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = batch / low - 1
            linear = np.where(np.abs(ratio) > NEARLY, flat * np.log1p(ratio) / np.where(ratio, ratio, 1), flat)
            rest = 1 - self._exponent(piece)
            near_one = start / low * np.log(seen / np.where(start > 0, start, 1))
            power = np.where(np.abs(rest) > NEARLY, (seen / batch - start / low) / np.where(rest, rest, 1), near_one)
        by_steps = 2 * length / (low + batch)
        return np.where(self._is(piece, STEPS), by_steps, np.where(self._is(piece, POWER), power, linear))

    def _tokens_of(self, piece, done) -> np.ndarray:
        """Tokens after so many steps of pieces."""
        start, stop, low, high = self._ends(piece)
        slope = (high - low) / (stop - start)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            linear = np.where(
                np.abs(slope * done) > NEARLY, low * np.expm1(slope * done) / np.where(slope, slope, 1), low * done
            )
            by_steps = low * done + (high**2 - low**2) / (stop - start) / 4 * done**2
            rest = 1 - self._exponent(piece)
            base = start / low + rest * done
            # B = low (D/start)^p, so D/B = base gives D^(1-p) = base low start^-p.
            power = np.where(
                np.abs(rest) > NEARLY,
                start * (base * low / np.where(start > 0, start, 1)) ** (1 / np.where(rest, rest, 1)),
                start * np.exp(done * low / np.where(start > 0, start, 1)),
            )
        return np.where(
            self._is(piece, STEPS), start + by_steps, np.where(self._is(piece, POWER), power, start + linear)
        )


def _ramp(tokens, first, last, shape) -> Ramp:
    return Ramp(
        tokens=np.asarray(tokens, float),
        first=np.asarray(first, float),
        last=np.asarray(last, float),
        shape=tuple(shape),
    )


def flat(tokens_per_step: float) -> Ramp:
    """The same batch throughout. [tokens]"""
    return _ramp([0], [tokens_per_step], [tokens_per_step], [TOKENS])


def linear_tokens(start: float, end: float, over: float) -> Ramp:
    """From one batch to another, linearly in the tokens seen. All [tokens]."""
    return _ramp([0, over], [start, end], [end, end], [TOKENS, TOKENS]) if over > 0 else flat(end)


def linear_steps(start: float, end: float, over: float) -> Ramp:
    """From one batch to another over so many tokens, by the same number of tokens every step. All [tokens]."""
    return _ramp([0, over], [start, end], [end, end], [STEPS, TOKENS]) if over > 0 else flat(end)


def staircase(thresholds, batches) -> Ramp:
    """Constant batches [tokens], each from its threshold on [tokens]; the first threshold is 0."""
    sizes = np.asarray(batches, float)
    return _ramp(thresholds, sizes, sizes, [TOKENS] * len(sizes))


def rampup(start: float, increment: float, end: float, over: float) -> Ramp:
    """Megatron-LM's former --rampup-batch-size: every increment of the batch, the end left out, gets an equal share of `over`.

    All [tokens], there in samples. From start to end in n = (end - start)/increment rises, each batch before the end lasts over/n.
    """
    rises = round((end - start) / increment)
    if rises < 1 or over <= 0:
        return flat(end)
    return staircase(np.arange(rises + 1) * over / rises, np.linspace(start, end, rises + 1))


def doubling(start: float, end: float, over: float) -> Ramp:
    """Doubles at equal distances up to the end, which the last rise reaches at `over`, doubling or less. All [tokens]."""
    rises = int(np.ceil(np.log2(end / start) - NEARLY)) if end > start else 0
    if rises < 1 or over <= 0:
        return flat(end)
    sizes = np.minimum(start * 2.0 ** np.arange(rises + 1), end)
    return staircase(np.arange(rises + 1) * over / rises, sizes)


def through(tokens, batches) -> Ramp:
    """Through points, each pair joined by a power of the tokens seen; flat before the first and after the last. [tokens]"""
    seen, sizes = np.asarray(tokens, float), np.asarray(batches, float)
    if seen[0] > 0:
        return _ramp(
            [0, *seen],
            [sizes[0], *sizes],
            [sizes[0], *sizes[1:], sizes[-1]],
            [TOKENS, *[POWER] * (len(seen) - 1), TOKENS],
        )
    raise ValueError(f"tokens must begin above 0, got {float(seen[0])!r}")
