#!/usr/bin/env python3
"""Draws the intervals of a soak: memory, descriptors, sizes of files and times, over the minutes.

    ./dev soak 30
    bench/plot_soak.py build/soak/soak.csv docs/performance/soak.svg

The first argument is the CSV file that `bench soak` writes. The grey areas are the intervals in which
a backup was made, restored or verified.
"""
import csv
import html
import math
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from plot import COLOURS, WIDTH  # noqa: E402

MB = 1e6
# Title, unit, whether the scale is logarithmic, and for each line its name, columns (added up) and unit.
PANELS = [
    ("Memory of the server", "MB", False, [("resident", ["rss_bytes"], MB), ("anonymous", ["anonymous_bytes"], MB)]),
    ("Open descriptors of the server", "", False, [("descriptors", ["descriptors"], 1)]),
    ("Sizes", "MB", False, [
        ("data.mdb and journals", ["data_bytes", "journal_bytes"], MB),
        ("pages with rows", ["used_bytes"], MB),
        ("streams", ["stream_bytes"], MB),
    ]),
    ("Time of a lifecycle", "ms", True, [("p99", ["p99_ms"], 1), ("p50", ["p50_ms"], 1)]),
]
LEFT, RIGHT, TOP, BOTTOM, GAP = 56, 12, 46, 24, 18
PLOT = 120  # the height of the area with the lines
BAND = "#eeeeee"
GRID = "#d5dadd"


def read_rows(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        sys.exit(f"{path}: expected at least one interval; run ./dev soak")
    return rows


def values_of(rows, columns, unit):
    return [sum(float(row[column]) for column in columns) / unit for row in rows]


def step_of(most):
    """Returns a round distance of grid lines, of which at most five fit below `most`."""
    power = 10 ** math.floor(math.log10(most / 5)) if most > 0 else 1
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor * 5 >= most)


def ticks_of(values, logarithmic):
    """Returns the values of the grid lines; the first and the last bound the scale."""
    known = [value for value in values if not math.isnan(value) and (value > 0 or not logarithmic)]
    if logarithmic:
        low = math.floor(math.log10(min(known, default=1)))
        high = math.ceil(math.log10(max(known, default=10)))
        return [10.0**power for power in range(low, max(high, low + 1) + 1)]
    most = max(known, default=0)
    step = step_of(most)
    return [step * i for i in range(max(math.ceil(most / step), 1) + 1)]


def text_of(value):
    return f"{value:,.0f}" if value >= 1 or value == 0 else f"{value:g}"


def draw_panel(rows, x, y, width, panel):
    title, unit, logarithmic, lines = panel
    minutes = [float(row["seconds"]) / 60 for row in rows]
    interval = minutes[1] - minutes[0] if len(minutes) > 1 else minutes[0]
    left, right, top = x + LEFT, x + width - RIGHT, y + TOP
    series = [(name, values_of(rows, columns, scale)) for name, columns, scale in lines]
    ticks = ticks_of([value for _, values in series for value in values], logarithmic)

    def across(minute):
        return left + (right - left) * minute / minutes[-1]

    def place(value):
        if logarithmic:
            return (math.log10(max(value, ticks[0])) - math.log10(ticks[0])) / (
                math.log10(ticks[-1]) - math.log10(ticks[0]))
        return value / ticks[-1]

    def down(value):
        return top + PLOT * (1 - place(value))

    name_of_axis = f"{title} ({unit})" if unit else title
    out = [f'<text x="{x + 8}" y="{y + 16}" font-size="13">{html.escape(name_of_axis)}</text>']
    for row, minute in zip(rows, minutes):
        if row["trial"]:
            out.append(f'<rect x="{across(minute - interval):.1f}" y="{top}" '
                       f'width="{across(interval) - left:.1f}" height="{PLOT}" fill="{BAND}"/>')
    for tick in ticks:
        out.append(f'<line x1="{left}" x2="{right}" y1="{down(tick):.1f}" y2="{down(tick):.1f}" stroke="{GRID}"/>')
        out.append(f'<text x="{left - 6}" y="{down(tick) + 4:.1f}" font-size="11" text-anchor="end">'
                   f'{text_of(tick)}</text>')
    for part, anchor in ((0, "start"), (0.5, "middle"), (1, "end")):
        minute = minutes[-1] * part
        out.append(f'<text x="{across(minute):.1f}" y="{top + PLOT + 16}" font-size="11" '
                   f'text-anchor="{anchor}">{minute:.3g} min</text>')
    key = x + 8
    for i, (name, values) in enumerate(series):
        points = " ".join(f"{across(minute):.1f},{down(value):.1f}"
                          for minute, value in zip(minutes, values) if not math.isnan(value))
        out.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[i]}" stroke-width="1.5"/>')
        out.append(f'<rect x="{key}" y="{y + 24}" width="11" height="11" fill="{COLOURS[i]}"/>')
        out.append(f'<text x="{key + 16}" y="{y + 34}">{html.escape(name)}</text>')
        key += 32 + 7 * len(name)
    return out


def draw(rows):
    width = (WIDTH - GAP) / 2
    height = TOP + PLOT + BOTTOM
    total = 2 * height + 3 * GAP
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{total}" fill="#fff"/>',
    ]
    for i, panel in enumerate(PANELS):
        out += draw_panel(rows, i % 2 * (width + GAP), GAP / 2 + i // 2 * (height + GAP), width, panel)
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    svg = draw(read_rows(sys.argv[1]))
    target = Path(sys.argv[2])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(svg)


if __name__ == "__main__":
    main()
