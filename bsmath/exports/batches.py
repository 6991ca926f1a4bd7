"""The batch of a draft: micro-batch x accumulation x replicas, of which texts give some factors and perhaps the product.

A product in the text wins over factors known from elsewhere, so that the batch, and every length in steps, agrees with
the text.
"""

import math

from bsmath.exports.values import largest_divisor

BATCH = ("micro_batch_size", "grad_accum_steps", "data_parallel_size")
"""The fields whose product is the global batch."""


class Batches:
    """What a draft does to complete its batch."""

    def batch(self, global_batch_size=None, source: str = "the global batch") -> None:
        """Complete the batch from what is given; the global batch is in sequences."""
        total = self.number(global_batch_size, source)
        if total is not None and not (total >= 1 and total == math.floor(total)):
            self.say(f"{source} was left out: it must be a whole number of sequences, got {total}.")
            total = None
        if total is not None and not self._divide(total, source):
            total = None
        sizes = [self.get(name) for name in BATCH]
        self.sequences = total if None in sizes else math.prod(sizes)

    def _divide(self, total: float, source: str) -> bool:
        """Set the factors that the text leaves open; whether the global batch can be had with those it gives."""
        sizes = {name: self.fields[name] for name in BATCH if name in self.fields}
        if not self._fits(sizes, total, source):
            return False
        given = ("data_parallel_size", "micro_batch_size")
        wanted = [name for name in given if name not in sizes][: max(2 - len(sizes), 0)]
        for name in reversed(wanted):
            if (value := self.get(name)) is not None:
                most = largest_divisor(total // math.prod(sizes.values()), value)
                sizes[name] = self._instead(name, value, most, total, source)
        missing = [name for name in BATCH if name not in sizes]
        if len(missing) > 1:
            self.say(
                f"{' and '.join(missing)} are not known; only their product with the rest is, {total:.15g} sequences."
            )
        elif missing:
            self.put(missing[0], total // math.prod(sizes.values()), source)
        return True

    def _fits(self, sizes: dict, total: float, source: str) -> bool:
        """Whether the text's factors divide its global batch, if need be with other replicas than it names."""
        replicas = sizes.get("data_parallel_size")
        rest = math.prod(sizes.values()) // (replicas or 1)
        if total % rest:
            factors = " x ".join(f"{name} {value}" for name, value in sizes.items())
            self.say(f"{source} of {total:.15g} sequences is not {factors}, and was left out.")
            return False
        if replicas:
            fitting = int(total // rest) if len(sizes) == len(BATCH) else largest_divisor(total // rest, replicas)
            sizes["data_parallel_size"] = self._instead("data_parallel_size", replicas, fitting, total, source)
        return True

    def _instead(self, name: str, value: int, found: int, total: float, source: str) -> int:
        """A factor that fits the global batch; where it is not the one named, it is set and said."""
        if found != value:
            self.say(f"{name} {value} does not fit {source} of {total:.15g} sequences; {found} was taken.")
            self.put(name, found, source)
        return found
