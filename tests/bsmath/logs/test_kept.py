from dataclasses import dataclass, field

from bsmath.kept import kept


@dataclass(frozen=True, eq=False)
class Record:
    """A record that counts how often it is asked."""

    calls: list = field(default_factory=list)

    @kept
    def twice(self, number: float, more: float = 0.0) -> float:
        """A method that costs something."""
        self.calls.append(number)
        return 2 * number + more


def test_the_same_question_is_answered_once():
    record = Record()
    assert [record.twice(1), record.twice(2), record.twice(1), record.twice(1, more=3), record.twice(1, more=3)] == [
        2,
        4,
        2,
        5,
        5,
    ]
    assert record.calls == [1, 2, 1]


def test_another_record_has_answers_of_its_own():
    first, second = Record(), Record()
    assert first.twice(1) == second.twice(1) == 2
    assert first.calls == second.calls == [1]
