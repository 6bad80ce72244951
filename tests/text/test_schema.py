"""What fits a schema and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.text.schema import misfit

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]"},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "kind": {"enum": ["a", 1, None]},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        "either": {"anyOf": [{"type": "null"}, {"type": "number"}]},
        "fixed": {"const": 1},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "value",
    [
        {"name": "ana"},
        {"name": "ana", "age": 3, "kind": None, "tags": ["x"], "either": 1.5, "fixed": 1},
        {"name": "ana", "age": 3.0, "either": None},
    ],
)
def test_what_fits(value: Any) -> None:
    assert misfit(value, PERSON) is None


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"name": ""}, "/name is below minLength"),
        ({"name": "ananas"}, "/name is above maxLength"),
        ({"name": "Ana"}, "/name does not follow"),
        ({"name": None}, "/name is not of type string"),
        ({"age": True}, "/age is not of type integer"),
        ({"age": 1.5}, "/age is not of type integer"),
        ({"age": float("nan")}, "/age is not of type integer"),
        ({"age": -1}, "/age is below minimum"),
        ({"age": 151}, "/age is above maximum"),
        ({"kind": True}, "/kind is none of those"),
        ({"tags": []}, "/tags is below minItems"),
        ({"tags": ["a", "b", "c"]}, "/tags is above maxItems"),
        ({"tags": ["a", 2]}, "/tags/1 is not of type string"),
        ({"tags": "a"}, "/tags is not of type array"),
        ({"either": "x"}, "/either fits none"),
        ({"fixed": True}, "/fixed is not what"),
        ({"sk-secret": 1}, "a property that is not asked for"),
    ],
)
def test_what_does_not_fit_is_named_and_not_repeated(more: dict[str, Any], why: str) -> None:
    found = misfit({"name": "ana", **more}, PERSON)
    assert found is not None
    assert why in found
    assert "secret" not in found


@pytest.mark.parametrize("value", [None, 1, "x", [], True])
def test_another_type_does_not_fit(value: Any) -> None:
    assert misfit(value, PERSON) == "the answer is not of type object"


def test_what_is_lacking_and_what_may_be_more() -> None:
    assert misfit({}, PERSON) == "the answer lacks name"
    assert misfit({"a": 1}, {"additionalProperties": {"type": "integer"}}) is None
    assert misfit({"a": "x"}, {"additionalProperties": {"type": "integer"}}) is not None
    assert misfit({"a": "x"}, {}) is None
    assert misfit(None, {"type": ["null", "string"]}) is None
    assert misfit(1, {"type": ["null", "string"]}) == "the answer is not of type null or string"
