"""The whole pipeline beside the loop one would write by hand, in the same run. Ratios, never absolute times."""

import json
import random
import string
from typing import Any

import orjson
import pytest
from laws import best_until, check_takes

from penstock import Pipeline, Settings
from penstock.bench.by_hand import read_by_hand
from penstock.bench.measure import best_times, read_through, run_fused, run_unfused, stage_times
from penstock.bench.openai_client import openai_runs
from penstock.bench.workload import Kind, make_message_workload, make_workload, split_into_reads
from penstock.sinks import CallbackSink

FLAT = 1.15


def pipeline(backend: str = "openai-chat", **settings: Any) -> Pipeline:
    """The default pipeline, to callbacks for the text and for the live parameters of tool calls."""
    seen: list[str] = []
    sink = CallbackSink(
        on_assistant_content_updated=lambda chunk, accumulated: seen.append(chunk),
        on_tool_block_updated=lambda update: seen.append(update.compact_params),
    )
    return Pipeline(Settings(backend=backend, **settings), sinks=[sink])


@pytest.mark.parametrize(("kind", "limit"), [("text", 0.8), ("thinking", 1.0), ("tools", 2.0)])
@pytest.mark.benchmark(group="from raw bytes to a sink, 20,000 chunks")
def test_the_whole_way_against_the_hand_written_loop(kind: Kind, limit: float, benchmark: Any) -> None:
    """Issue 7: at most 0.8 of the hand-written loop for text, 1.0 with thinking tags, 2.0 for one 200 KB call."""
    workload = make_workload(kind)
    one = pipeline()
    reply = read_through(one, workload.reads)
    answer = reply.text if kind != "tools" else reply.tool_calls[0].input["content"]
    assert answer.split() == answer_by_hand(kind, workload.reads).split()
    best = best_until(
        {"by hand": lambda: read_by_hand(workload.reads), "penstock": lambda: read_through(one, workload.reads)},
        lambda best: best["penstock"] <= limit * best["by hand"],
    )
    ratio = best["penstock"] / best["by hand"]
    benchmark.extra_info.update(ratio=round(ratio, 2), chunks=workload.chunks)
    benchmark.pedantic(read_through, (one, workload.reads), rounds=1)
    print(f"\n{kind}: {ratio:.2f} × by hand ({best['penstock'] / workload.chunks * 1e6:.2f} µs a chunk)")
    assert ratio <= limit


def answer_by_hand(kind: Kind, reads: list[bytes]) -> str:
    answer = read_by_hand(reads)
    if kind == "thinking":
        return answer.partition("</think>")[2]
    if kind == "tools":
        content: str = json.loads(answer)["content"]
        return content
    return answer


def test_an_answer_filled_up_as_openai_does_against_the_hand_written_loop() -> None:
    """OpenAI puts up to 16 random letters into each record, against eavesdroppers: no two of them are alike."""
    randomness = random.Random(1)
    filled = [
        b'%b,"usage":null,"obfuscation":"%b"}\n\n'
        % (arrival[:-3], "".join(randomness.choices(string.ascii_letters, k=randomness.randint(1, 16))).encode())
        for arrival in make_workload("text").arrivals
    ]
    reads = split_into_reads(b"".join(filled) + b"data: [DONE]\n\n", 1500, randomness)
    one = pipeline()
    assert read_through(one, reads).text == read_by_hand(reads)
    takes = check_takes(lambda: read_through(one, reads), lambda: read_by_hand(reads), at_most=0.9)
    print(f"\ntext, filled up: {takes:.2f} × by hand")


@pytest.mark.parametrize("padding", [0, 15], ids=["bare", "padded"])
@pytest.mark.benchmark(group="from raw bytes to a sink, 20,000 message events")
def test_message_events_against_the_hand_written_loop(padding: int, benchmark: Any) -> None:
    """The Messages API sends smaller records, so the loop is quicker; it pads them, too."""
    workload = make_message_workload(max_padding=padding)
    one = pipeline("anthropic")
    assert read_through(one, workload.reads).text == messages_by_hand(workload.reads)
    best = best_until(
        {
            "by hand": lambda: messages_by_hand(workload.reads),
            "penstock": lambda: read_through(one, workload.reads),
        },
        lambda best: best["penstock"] <= 1.2 * best["by hand"],
    )
    ratio = best["penstock"] / best["by hand"]
    benchmark.extra_info.update(ratio=round(ratio, 2), chunks=workload.chunks)
    benchmark.pedantic(read_through, (one, workload.reads), rounds=1)
    print(f"\nmessage events, up to {padding} spaces: {ratio:.2f} × by hand")
    assert ratio <= 1.2


def messages_by_hand(reads: list[bytes]) -> str:
    buffer = b""
    parts: list[str] = []
    for read in reads:
        buffer += read
        *events, buffer = buffer.split(b"\n\n")
        for event in events:
            record = orjson.loads(event.partition(b"data: ")[2])
            if record["type"] == "content_block_delta":
                parts.append(record["delta"]["text"])
    return "".join(parts)


@pytest.mark.benchmark(group="the openai client over the same bytes, 3,000 chunks")
def test_the_openai_client_over_the_same_bytes(benchmark: Any) -> None:
    """Issue 7: at least 50 × the client's chunk iteration, at least 100 × its stream helper."""
    workload = make_workload("text")
    few = make_workload("text", 2000)
    one = pipeline()
    theirs = openai_runs(few.reads)
    assert {run() for run in theirs.values()} == {read_by_hand(few.reads)}
    best = best_times(theirs, rounds=2) | best_times({"penstock": lambda: read_through(one, workload.reads)})
    a_chunk = best["penstock"] / workload.chunks
    times = {name: seconds / few.chunks / a_chunk for name, seconds in best.items() if name != "penstock"}
    benchmark.extra_info.update({name: round(ratio) for name, ratio in times.items()})
    benchmark.pedantic(theirs["openai, chunk iteration"], rounds=1)
    for name, ratio in times.items():
        print(f"\n{name}: {ratio:.0f} × penstock", end="")
    assert times["openai, chunk iteration"] >= 50
    assert times["openai, stream helper"] >= 100


@pytest.mark.benchmark(group="fused and unfused, 5,000 chunks")
def test_fused_against_unfused_and_each_stage(benchmark: Any) -> None:
    workload = make_workload("text", 5_000)
    operator = pipeline().operator()
    best = best_times(
        {
            "by hand": lambda: read_by_hand(workload.reads),
            "fused": lambda: run_fused(operator, workload.reads),
            "unfused": lambda: run_unfused(operator, workload.reads),
        }
    )
    benchmark.extra_info.update({name: round(seconds / best["by hand"], 2) for name, seconds in best.items()})
    benchmark.pedantic(run_fused, (operator, workload.reads), rounds=1)
    print("\n               × by hand")
    for name, seconds in best.items():
        print(f"{name:<16}{seconds / best['by hand']:.2f}")
    for label, seconds in stage_times(operator, workload):
        print(f"  {label:<22}{seconds / best['by hand']:.2f}")
    assert best["fused"] < best["unfused"]


def growth(kind: Kind, small: int, large: int, rounds: int) -> float:
    """How many times as much a chunk costs in a long answer as in a short one."""
    one = pipeline()
    few, many = make_workload(kind, small).reads, make_workload(kind, large).reads
    takes = check_takes(
        lambda: read_through(one, many), lambda: read_through(one, few), FLAT * large / small, rounds
    )
    return takes / large * small


@pytest.mark.parametrize("kind", ["text", "thinking", "tools"])
def test_a_chunk_costs_the_same_in_an_answer_ten_times_as_long(kind: Kind) -> None:
    """Issue 7: flat within 15 %."""
    ratio = growth(kind, 10_000, 100_000, rounds=3)
    print(f"\n{kind}: a chunk of 100 k costs {ratio:.2f} × one of 10 k")
    assert ratio <= FLAT


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["text", "thinking", "tools"])
def test_a_chunk_costs_the_same_in_an_answer_of_a_million(kind: Kind) -> None:
    """Issue 7: flat within 15 % from 10 k to 1 M chunks."""
    ratio = growth(kind, 10_000, 1_000_000, rounds=2)
    print(f"\n{kind}: a chunk of 1 M costs {ratio:.2f} × one of 10 k")
    assert ratio <= FLAT


def test_a_stream_without_the_short_way_still_grows_linearly() -> None:
    """Every chunk differs from the last in a number: all of it goes the plain way."""

    def reads(count: int) -> list[bytes]:
        arrivals = make_workload("text", count).arrivals
        return [b'%b,"number":%d}\n\n' % (a[:-3], n) for n, a in enumerate(arrivals)]

    one = pipeline()
    small, large = reads(2_000), reads(20_000)
    check_takes(lambda: read_through(one, large), lambda: read_through(one, small), at_most=14)
