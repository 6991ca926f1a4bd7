"""What the exports share in writing: lengths in samples and padded tokens, ratios, shared sentences."""

from bsmath.recipe import Recipe


def samples(recipe: Recipe, tokens: float) -> int:
    """Whole sequences nearest to a length in tokens; at least one where there is any length. [sequences]"""
    return max(round(tokens / (recipe.seq_len * (1 - recipe.padding_fraction))), 1) if tokens > 0 else 0


def padded(recipe: Recipe, tokens: float) -> int:
    """A length in real tokens with its padding, which trainers count. [tokens]"""
    return max(round(tokens / (1 - recipe.padding_fraction)), 1) if tokens > 0 else 0


def floor_ratio(recipe: Recipe) -> float:
    """Last rate over peak rate."""
    return recipe.min_learning_rate / recipe.learning_rate


def decay_share(recipe: Recipe) -> float:
    """Share of the run over which a wsd schedule falls."""
    return min(recipe.decay_tokens / recipe.total_tokens, 1.0)


def coupled_decay(recipe: Recipe) -> float | None:
    """The weight decay of a trainer that multiplies it by the rate; None where the recipe's is independent of it."""
    return recipe.weight_decay if recipe.decay == "coupled" else None


def notes(recipe: Recipe, label: str) -> tuple[str, ...]:
    """Sentences that hold for every trainer which counts padded sequences and multiplies decay by the rate."""
    said = []
    if recipe.padding_fraction:
        said.append(
            f"{label} counts padding as tokens; lengths were converted with a padding of "
            f"{100 * recipe.padding_fraction:.3g} %."
        )
    if recipe.decay == "independent":
        same = recipe.weight_decay / recipe.learning_rate
        said.append(
            f"Weight decay was left out: {label} multiplies it by the learning rate. {same:.3g} would be the same "
            "at the peak rate alone."
        )
    if recipe.model_parallel_size > 1:
        said.append(
            f"The {recipe.model_parallel_size} devices of a replica were left out: how they split it is not in "
            "the recipe."
        )
    return tuple(said)
