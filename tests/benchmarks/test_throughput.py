"""The whole pipeline beside the loop one would write by hand, in the same run. Ratios, never absolute times."""

from typing import Any

import pytest

from penstock import Pipeline, Settings
from penstock.bench.by_hand import read_by_hand
from penstock.bench.measure import best_times, read_through, run_fused, run_unfused, stage_times
from penstock.bench.workload import Kind, make_workload
from penstock.sinks import CallbackSink


def pipeline(**settings: Any) -> Pipeline:
    seen: list[str] = []
    sink = CallbackSink(on_assistant_content_updated=lambda chunk, accumulated: seen.append(chunk))
    return Pipeline(Settings(backend="openai-chat", **settings), sinks=[sink])


@pytest.mark.parametrize(("kind", "limit"), [("text", 2.0), ("thinking", 2.0), ("tools", 3.0)])
def test_the_whole_way_against_the_hand_written_loop(kind: Kind, limit: float, benchmark: Any) -> None:
    workload = make_workload(kind)
    one = pipeline()
    reply = read_through(one, workload.reads)
    answer = reply.text if kind != "tools" else reply.tool_calls[0].input["content"]
    assert answer.split() == answer_by_hand(kind, workload.reads).split()
    best = best_times(
        {"by hand": lambda: read_by_hand(workload.reads), "penstock": lambda: read_through(one, workload.reads)}
    )
    ratio = best["penstock"] / best["by hand"]
    benchmark.extra_info.update(ratio=ratio, chunks=workload.chunks)
    benchmark.pedantic(read_through, (one, workload.reads), rounds=1)
    print(f"\n{kind}: {ratio:.2f} × by hand ({best['penstock'] / workload.chunks * 1e6:.2f} µs a chunk)")
    assert ratio <= limit


def answer_by_hand(kind: Kind, reads: list[bytes]) -> str:
    answer = read_by_hand(reads)
    if kind == "thinking":
        return answer.partition("</think>")[2]
    if kind == "tools":
        import json

        content: str = json.loads(answer)["content"]
        return content
    return answer


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
    benchmark.extra_info.update({name: seconds / best["by hand"] for name, seconds in best.items()})
    benchmark.pedantic(run_fused, (operator, workload.reads), rounds=1)
    print("\n               × by hand")
    for name, seconds in best.items():
        print(f"{name:<16}{seconds / best['by hand']:.2f}")
    for label, seconds in stage_times(operator, workload):
        print(f"  {label:<22}{seconds / best['by hand']:.2f}")
    assert best["fused"] < best["unfused"]


@pytest.mark.parametrize("kind", ["text", "thinking", "tools"])
def test_ten_times_the_chunks_take_at_most_twelve_times_as_long(kind: Kind, benchmark: Any) -> None:
    one = pipeline()
    small, large = make_workload(kind, 10_000), make_workload(kind, 100_000)
    best = best_times(
        {
            "10 k": lambda: read_through(one, small.reads),
            "100 k": lambda: read_through(one, large.reads),
        },
        rounds=3,
    )
    growth = best["100 k"] / best["10 k"]
    benchmark.extra_info.update(growth=growth)
    benchmark.pedantic(read_through, (one, small.reads), rounds=1)
    print(f"\n{kind}: 100 k chunks take {growth:.1f} × as long as 10 k")
    assert growth <= 12
