"""What pydantic says reaches users in plain words; what nobody foresaw reaches them as it is."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from coldturn.reference.complaints import plain_complaint


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        (int, "x", "a whole number is expected"),
        (float, "x", "a number is expected"),
        (bool, "x", "true or false is expected"),
        (str, 3, "text is expected"),
        (list[int], 3, "a list is expected"),
        (dict[str, int], 3, "a table is expected"),
        (Annotated[int, Field(ge=2)], 1, "it must be 2 or more"),
        (Annotated[int, Field(gt=2)], 1, "it must be more than 2"),
        (Annotated[float, Field(le=0.5)], 1, "it must be 0.5 or less"),
        (Annotated[float, Field(lt=0.5)], 1, "it must be less than 0.5"),
        (Literal["a", "b"], "c", "it takes 'a' or 'b'"),
    ],
)
def test_a_complaint_is_plain(kind: Any, value: object, told: str) -> None:  # noqa: ANN401 - any type
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(kind).validate_python(value)
    assert plain_complaint(refused.value.errors()[0]["msg"]) == told


def test_other_words_stay() -> None:
    assert plain_complaint("Value error, the moon is full") == "the moon is full"
    assert plain_complaint("Something new about Input") == "Something new about Input"
