"""The events of one MLPerf run -> its rows; see `mllog`.

The place of an event counts samples (sequences), under one of several names in its metadata, or in the value itself; tokens in the
benchmark gpt3; steps where the numbers are no multiples of the global batch. Training is timed from the start of a block to its
end, or to the next evaluation, so evaluations are left out of the rates.
"""

import math

from bsmath.trainers import fields

SETTINGS = {
    "global_batch_size": "batch_seqs",
    "max_sequence_length": "seq_len",
    "gradient_accumulation_steps": "accum",
    "seed": "seed",
    "submission_benchmark": "model",
    "opt_base_learning_rate": "learning_rate",
}
"""Events that hold for the run."""
LOSS_IS_METRIC = frozenset("llama2_70b_lora llama31_8b llama31_405b gpt3 flux1 flux".split())
"""Benchmarks whose eval_accuracy is a loss: the log perplexity of language models, the validation loss of flux."""
TOKENS = frozenset(["gpt3"])
"""Benchmarks whose places and rates count tokens."""
STATS = {
    "throughput": "throughput",
    "samples_per_second": "throughput",
    "train_step_time": "step_time_s",
    "reduced_train_loss": "train_loss",
    "train_loss": "train_loss",
    "loss": "train_loss",
    "lr": "learning_rate",
    "learning_rate": "learning_rate",
    "grad_norm": "grad_norm",
}
"""What tracked_stats may hold and what it is here; throughput is in samples/s, of gpt3 in tokens/s."""
STOPS = ("block_stop", "eval_start", "tracked_stats")
STARTS = ("block_start", "epoch_start", "eval_stop")
"""Events at which a stretch of training ends, and begins."""
EVALUATED = ("eval_accuracy", "eval_loss")
UNLIKE = 1.5
"""Ratio to the rate by the clock of its block from which a throughput counts something else (a device, tokens)."""
ENDED = {"success": "finished", "aborted": "aborted"}


def number_of(value) -> float:
    """A number of any kind; nan for all else."""
    if isinstance(value, bool) or value is None:
        return math.nan
    number = fields.number(str(value)[:40])
    return number if abs(number) < 1e18 else math.nan


def _place(key: str, value, metadata: dict, batch: float) -> tuple[str, float] | None:
    """Where in the training an event stands: "samples", "step" or "either", and the number."""
    if key == "eval_stop" and number_of(value) > 0:
        return "samples", number_of(value)  # samples_count may then be that of the evaluation
    names = (("samples_count", "samples"), ("step", "either"), ("epoch_num", "samples"), ("step_num", "step"))
    for name, unit in names:
        place = number_of(metadata.get(name))
        if name == "epoch_num" and 0 < place < max(batch, 1_000):
            continue  # epochs
        if place >= 0:
            return unit, place
    return None


class Run:
    """The events of one run; those that other ranks repeat are left out."""

    def __init__(self):
        self.events, self.settings, self.seen, self.state = [], {}, set(), None
        self.began, self.stopped = math.nan, False

    def take(self, line: int, event: dict) -> None:
        key, value, metadata = event["key"], event.get("value"), event["metadata"]
        if key in SETTINGS:
            self.settings.setdefault(key, (line, value))
        time = number_of(event.get("time_ms")) / 1000
        if key == "run_start" and not self.began == self.began:
            self.began = time
        elif key == "run_stop":
            self.stopped = True
            status = str(metadata.get("status", ""))[:20]
            self.state = self.state or ENDED.get(status, status) or None
        elif key in (*STOPS, *STARTS, *EVALUATED):
            place = _place(key, value, metadata, self.number("global_batch_size"))
            mark = (key, place, tuple(value) if isinstance(value, dict) else ())
            if place is not None and mark not in self.seen:
                self.seen.add(mark)
                self.events.append((line, key, place, time, value))

    def number(self, key: str) -> float:
        return number_of(self.settings.get(key, (0, None))[1])

    @property
    def benchmark(self) -> str:
        return str(self.settings.get("submission_benchmark", (0, ""))[1])[:60]

    def constants(self) -> list[tuple]:
        """What holds for the run: line, header, value."""
        found = [(1, "model", self.benchmark)] if self.benchmark else []
        for key, header in SETTINGS.items():
            value = self.number(key)
            if value > 0 or (header == "seed" and value == 0):
                found.append((self.settings[key][0], header, int(value) if value == int(value) else value))
        return found

    def counts_steps(self) -> bool:
        """Whether the places that may be either count steps: then most are no multiples of the batch."""
        batch = self.number("global_batch_size")
        either = {value for *_, (unit, value), _, _ in self.events if unit == "either" and value > 0}
        return batch > 1 and bool(either) and sum(value % batch != 0 for value in either) > len(either) / 2

    def rows(self) -> list[tuple[int, dict]]:
        """Line and content of each row: one a place."""
        steps, rows, block = self.counts_steps(), {}, None
        scale = self.number("global_batch_size")
        for line, key, (unit, place), time, value in self.events:
            if unit == "step" or (unit == "either" and steps):
                place *= scale
            if not place == place:
                continue
            if key in STARTS:
                block = (place, time)
                continue
            row = rows.setdefault(place, (line, {"place": place, "wall_time_s": time - self.began}))[1]
            if key in EVALUATED:
                self._evaluate(row, key, value)
            elif key == "tracked_stats":
                row.update(_stats(value))
            elif block is not None and place > block[0] and time > block[1]:
                row.setdefault("block", (place - block[0]) / (time - block[1]))
        return [(line, self._finished(row)) for line, row in rows.values() if row["place"] > 0 or len(row) > 2]

    def _evaluate(self, row: dict, key: str, value) -> None:
        if key == "eval_loss" or self.benchmark in LOSS_IS_METRIC:
            row["val_loss"] = fields.loss(str(value)[:40])

    def _finished(self, row: dict) -> dict:
        """A row under the headers of `records.HEADERS`."""
        place, block, rate = row.pop("place"), row.pop("block", math.nan), row.pop("throughput", math.nan)
        if block == block and not 1 / UNLIKE < rate / block < UNLIKE:
            rate = block
        tokens, batch = self.benchmark in TOKENS, self.number("global_batch_size")
        row["tokens" if tokens else "consumed_samples"] = place
        row["tokens_per_s" if tokens else "samples_per_s"] = rate
        per_step = batch * (self.number("max_sequence_length") if tokens else 1)
        if per_step > 0 and place % per_step == 0:
            row["step"] = int(place / per_step)
        return row


def _stats(value) -> dict:
    """What tracked_stats hold of what is known here."""
    stats = value if isinstance(value, dict) else {}
    row = {}
    for key, header in STATS.items():
        if key in stats and header not in row and stats[key] is not None:
            row[header] = fields.loss(str(stats[key])[:40]) if header == "train_loss" else number_of(stats[key])
    return {header: number for header, number in row.items() if number == number}
