"""What turns hold: a few kilobytes while nothing happens, and a small multiple of what was said."""

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from penstock import Pipeline, Settings
from penstock.bench.memory import measure_memory, memory_factor
from penstock.bench.workload import Kind, make_workload
from penstock.sinks import CallbackSink


def pipeline() -> Pipeline:
    return Pipeline(Settings(backend="openai-chat"), sinks=[CallbackSink(on_item=lambda item: None)])


def test_a_turn_takes_less_than_32_kb_idle_or_speaking() -> None:
    """Issue 7: 1,000 idle turns, less than 32 KB each."""
    memory = measure_memory(pipeline(), make_workload("text", 100), turns=100)
    print(f"\nidle {memory.idle / 1024:.1f} KB, speaking {memory.speaking / 1024:.1f} KB")
    assert memory.idle < 16 * 1024
    assert memory.speaking < 32 * 1024


@pytest.mark.parametrize("kind", get_args(Kind))
def test_memory_is_linear_in_the_message_with_a_small_factor(kind: Kind) -> None:
    """Issue 7: a factor below 4, of what Python has asked for at the peak of the turn."""
    factor = memory_factor(pipeline(), make_workload(kind, 5_000), make_workload(kind, 25_000))
    print(f"\n{kind}: {factor:.1f} bytes for every byte of the message, at the peak")
    assert factor < 4


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak of a part of a run"
)
@pytest.mark.parametrize("kind", get_args(Kind))
def test_resident_memory_is_linear_in_the_message_with_a_small_factor(kind: Kind) -> None:
    """Issue 7: a factor below 4, of what the system has given the process, and with what the allocator wastes."""

    def measured(chunks: int) -> tuple[int, int]:
        command = [sys.executable, str(Path(__file__).with_name("resident_turn.py")), kind, str(chunks)]
        peak, said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        return int(peak), int(said)

    (small_peak, small_said), (large_peak, large_said) = measured(50_000), measured(250_000)
    factor = (large_peak - small_peak) / (large_said - small_said)
    print(f"\n{kind}: {factor:.1f} resident bytes for every byte of the message, at the peak")
    assert factor < 4
