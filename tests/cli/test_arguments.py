from __future__ import annotations

import argparse

import pytest

from condyle.cli.arguments import (
    add_reading_arguments,
    collect_reading,
    parse_bodies,
    parse_length,
    parse_not_negative,
    parse_percent,
    parse_port,
    parse_positive,
    parse_renames,
    parse_rod_length,
    split_names,
)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "x", ""])
def test_positive_takes_finite_numbers_above_zero_only(text: str) -> None:
    assert parse_positive("0.5") == 0.5
    with pytest.raises(argparse.ArgumentTypeError):
        parse_positive(text)


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "x"])
def test_not_negative_takes_zero_too(text: str) -> None:
    assert parse_not_negative("0") == 0
    with pytest.raises(argparse.ArgumentTypeError):
        parse_not_negative(text)


def test_a_percentage_ends_at_100() -> None:
    assert parse_percent("100") == 100
    with pytest.raises(argparse.ArgumentTypeError):
        parse_percent("100.1")


def test_ports_end_where_those_of_a_machine_do() -> None:
    assert (parse_port("0"), parse_port("65535")) == (0, 65535)
    for wrong in ("65536", "-1", "x"):
        with pytest.raises(argparse.ArgumentTypeError):
            parse_port(wrong)


@pytest.mark.parametrize("text", ["", " , "])
def test_bodies_of_a_variable_that_is_not_set_are_not_all_of_them(text: str) -> None:
    assert parse_bodies("a, b") == ("a", "b")
    with pytest.raises(argparse.ArgumentTypeError, match="no body is named"):
        parse_bodies(text)


def test_only_the_options_that_were_given_are_passed_on() -> None:
    parser = argparse.ArgumentParser()
    add_reading_arguments(parser)
    assert collect_reading(parser.parse_args([])) == {}
    assert collect_reading(parser.parse_args(["--rate", "50"])) == {"rate": 50.0}


def test_names_and_renames_are_lists() -> None:
    assert split_names(" a, b,,c ") == ("a", "b", "c")
    assert parse_renames("a=b, c=d") == {"a": "b", "c": "d"}
    for wrong in ("a", "a=", "=b", "a=b,a=c"):
        with pytest.raises(argparse.ArgumentTypeError, match="old=new"):
            parse_renames(wrong)


@pytest.mark.parametrize(("text", "metres"), [("565", 0.565), ("565mm", 0.565), ("56.5 cm", 0.565), ("0.565m", 0.565)])
def test_a_length_is_in_millimetres_unless_it_names_its_unit(text: str, metres: float) -> None:
    assert parse_length(text) == pytest.approx(metres)
    assert parse_rod_length(text) == pytest.approx(metres)


def test_a_rod_of_half_a_millimetre_was_meant_in_metres() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"'0.565' is 0.565 mm; say 565 for millimetres"):
        parse_rod_length("0.565")
