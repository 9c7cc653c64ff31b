import pytest

from foreword.basics.messages import Fault
from foreword.basics.units import parse_bandwidth, parse_memory, parse_speed


@pytest.mark.parametrize(
    ("parse", "text", "found"),
    [
        (parse_memory, "80GB", 80e9),
        (parse_memory, "80 GB", 80e9),
        (parse_memory, "24GiB", 24 * 2**30),
        (parse_memory, "1.5TB", 1.5e12),
        (parse_memory, "1,000MB", 1e9),
        (parse_speed, "312TFLOPS", 312e12),
        (parse_speed, "1.2PFLOP/s", 1.2e15),
        (parse_bandwidth, "100GB/s", 100e9),
        (parse_bandwidth, "400Gbit/s", 50e9),
        (parse_bandwidth, "400Gb/s", 50e9),
        (parse_bandwidth, "10Gbps", 1.25e9),
    ],
)
def test_amounts_as_they_are_sold(parse, text, found):
    assert parse(text, "--it") == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("text", ["80", "80GB/s", "80 parsecs", "GB", "", "-80GB", "80gb", "8e1GB", "80GXB"])
def test_memory_in_other_units_is_a_sentence(text):
    with pytest.raises(Fault, match=rf"^--it {text}: it is written in bytes, like 80GB or 24GiB.$"):
        parse_memory(text, "--it")


def test_nothing_is_no_amount():
    with pytest.raises(Fault, match=r"^--device-speed 0TFLOPS: it must be more than nothing.$"):
        parse_speed("0TFLOPS", "--device-speed")
    with pytest.raises(
        Fault, match=r"^--interconnect 100GB: it is written in bytes or bits a second, like 100GB/s or 400Gbit/s.$"
    ):
        parse_bandwidth("100GB", "--interconnect")
    with pytest.raises(Fault, match=r"^--device-speed 312T: it is written in operations a second, like 312TFLOPS.$"):
        parse_speed("312T", "--device-speed")
