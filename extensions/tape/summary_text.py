"""What is on a tape, in lines for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from extensions.tape.tape_summary import ChannelSummary, Spread, TapeSummary
from rdss_sandbox.text.figures import clock_time, counted, date_time, rate, size, span
from tui.text.bars import plot

_ROWS: Final = 6


def describe_summary(summary: TapeSummary) -> Iterator[str]:
    mark, lasted = summary.mark, summary.last - summary.first
    yield f"{summary.file}: {summary.entries:,} entries in {size(summary.bytes)}"
    yield f"  {mark.source or 'nobody says of what'}; recorded by rdss-sandbox {mark.made_by}"
    yield f"  contract {mark.contract or 'unknown'}, bodies {mark.bodies}"
    if summary.entries:
        yield f"  from {date_time(summary.first)} to {date_time(summary.last)}: {span(lasted)}"
    if summary.lost:
        yield f"  {summary.lost:,} entries were lost while it was recorded"
    quiet = [each.name for each in summary.channels if _is_quiet(each)]
    for each in summary.channels:
        if each.name not in quiet:
            yield ""
            yield from _describe_channel(each, lasted)
    if quiet:
        yield f"\nnothing passed {', '.join(quiet)}"
    if summary.slowest:
        yield "\nslowest hours"
    for hour in summary.slowest:
        mean, began = _write_latency(hour.latency), date_time(hour.start)[:16]
        yield f"  {began}  {mean} on average of {counted(hour.calls, 'answer')}"


def _describe_channel(channel: ChannelSummary, lasted: float) -> Iterator[str]:
    shards = f", {counted(channel.shards, 'shard')}" if channel.shards else ""
    yield f"{channel.name or '(unknown)'}: {channel.kind}{shards}"
    if channel.messages:
        mean = rate(channel.messages / lasted if lasted else channel.messages)
        yield (
            f"  {counted(channel.messages, 'message')}, {size(channel.bytes)}, "
            f"{counted(channel.keys, 'key')}; {mean} on average, {rate(channel.peak)} at most"
        )
        yield from (f"  {line}" for line in plot([each or None for each in channel.rates], _ROWS))
        yield from _describe_spread("sizes", channel.sizes, lambda figure: size(round(figure)))
        yield f"  {counted(channel.duplicates, 'duplicate')}"
    yield from _describe_spread("latencies", channel.latencies, _write_latency)
    if total := channel.sequences.complete + channel.sequences.incomplete:
        yield f"  {counted(total, 'sequence')}, of which {channel.sequences.incomplete:,} lack parts"
    if channel.invalid is not None:
        yield f"  {counted(sum(channel.invalid.values()), 'bad message')}"
        yield from (f"    {code} {number:,}" for code, number in channel.invalid.items())
    if channel.reads:
        yield f"  {counted(channel.reads, 'read')}"
    for code, number in channel.refusals.items():
        yield f"  {counted(number, 'refusal')} with {code}"
    for each in channel.reshards:
        before, after = len(each.before), len(each.after)
        yield f"  reshard at {clock_time(each.at)}: {before:,} open shards became {after:,}"


def _is_quiet(channel: ChannelSummary) -> bool:
    return not (channel.messages or channel.reads or channel.refusals or channel.reshards)


def _write_latency(seconds: float) -> str:
    """As ``span`` does, but one of our own is mostly a part of a millisecond."""
    return f"{seconds * 1000:.2f} ms" if seconds < 0.01 else span(seconds)


def _describe_spread(name: str, spread: Spread | None, write: Callable[[float], str]) -> Iterator[str]:
    if spread is not None:
        least, median, most = map(write, (spread.least, spread.median, spread.most))
        yield f"  {name} from {least} to {most}, half of them up to {median}"
