"""A plan in words: the memory table people read before a run. Plain text; the command line dresses the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from footprint.units import counted, format_bytes, format_seconds

if TYPE_CHECKING:
    from footprint.plan.plan import Plan


def memory_rows(plan: Plan) -> list[tuple[str, int, str]]:
    """Kind, bytes and remark of every line of the memory table; the last is the total."""
    size = plan.footprint
    bounds = ", ".join(f"{one.name}{' (at most)' if one.bound else ''}" for one in plan.libraries if one.nbytes)
    return [
        ("arena", size.arena, "working memory, exact"),
        ("constant", size.constant, "tables and weights, exact"),
        ("library", size.library, bounds or "none"),
        ("host", size.host, "buffers on the way to the device, exact" if size.host else "none"),
        ("total", size.total, "counted against the budget"),
    ]


def summary_rows(plan: Plan) -> list[tuple[str, str]]:
    """Name and value of every line about the run as a whole."""
    rows = [("device", plan.limits.device), ("largest block", format_bytes(plan.footprint.largest))]
    if plan.footprint.context:
        rows.append(("context", f"{format_bytes(plan.footprint.context)}, taken by the runtime itself, measured, not in the total"))
    for slot in (*plan.inputs, *plan.outputs):
        whose = "yours, not counted" if slot.given.owner == "caller" else "in blocks, counted above"
        kind = "input" if slot.kind == "inp" else "output"
        name = kind if slot.name in (kind, "out", "in") else f"{kind} {slot.name}"
        rows.append((name, f"{slot.spec}, {format_bytes(slot.spec.nbytes)} in all, {whose}"))
    for cut in plan.cuts:
        rows.append(("parts", f"{cut.size} of {counted(cut.total, cut.unit or cut.axis)} at a time, {counted(cut.count, 'parts')}"))
    if len(plan.lanes) > 1:
        rows.append(
            ("overlap", f"reading, computing and writing at once, {counted(plan.copies, 'buffers')} between one and the next")
        )
    if plan.seconds:
        slowest = max(plan.seconds, key=lambda lane: lane[1])[0]
        told = ", ".join(f"{lane} {format_seconds(t)}" for lane, t in plan.seconds if t > 0)
        rows.append(("predicted", f"{told}; limited by {slowest}"))
    if plan.slow:
        rows.append(("slow", plan.slow))
    rows.extend(("note", note) for note in plan.notes)
    return rows


def choice_rows(plan: Plan) -> list[tuple[str, str, str]]:
    """What other sizes of parts would take: units in a part, parts, bytes."""
    return [(str(c.size), str(c.runs), format_bytes(c.nbytes)) for c in plan.choices]


def choices_at(plan: Plan) -> str:
    """What other sizes were tried with: a table for another budget may have other buffers, so other bytes for the same parts."""
    return f"other budgets, {counted(plan.copies, 'buffers')} each" if len(plan.lanes) > 1 else "other budgets, one thread"


def explain(plan: Plan) -> str:
    """The whole table as text."""
    lines = [f"plan {plan.name} on {plan.limits.device}"]
    lines += [f"  {kind:<10}{format_bytes(n):>12}   {remark}" for kind, n, remark in memory_rows(plan)]
    lines += [f"  {name}: {value}" for name, value in summary_rows(plan)[1:]]
    rows = choice_rows(plan)
    if len(rows) > 1 and plan.cuts:
        unit = plan.cuts[0].unit or plan.cuts[0].axis
        lines.append(
            f"  {choices_at(plan)}: "
            + "; ".join(f"{size}: {counted(n, unit)} at a time, {counted(parts, 'parts')}" for n, parts, size in rows)
        )
    return "\n".join(lines)
