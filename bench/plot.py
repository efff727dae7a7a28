#!/usr/bin/env python3
"""Draws charts from the table that the benchmarks print.

    ./dev bench > table.md
    bench/plot.py docs/performance < table.md

Writes lifecycles.svg, latency.svg and matching.svg into the folder that the argument names.
"""
import html
import re
import sys
from pathlib import Path

WIDTH, LABELS, BAR, GAP = 760, 250, 16, 12
COLOURS = ["#1f6f8b", "#b9c6cc", "#e0a458"]


def rows_of(lines):
    """Yields the three cells of each row."""
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("|") and len(cells) == 3:
            yield cells


def number(pattern, text):
    match = re.search(pattern, text)
    return float(match.group(1)) if match else None


def bars(title, unit, series, groups):
    """Returns a chart of horizontal bars as SVG; a group is (label, values) with a value, or None, for each series."""
    most = max(value for _, values in groups for value in values if value is not None)
    scale = (WIDTH - LABELS - 140) / most
    drawn = [(label, [(i, v) for i, v in enumerate(values) if v is not None]) for label, values in groups]
    height = 64 + sum(len(values) * BAR + GAP for _, values in drawn)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="20" font-size="15">{html.escape(title)}</text>',
    ]
    x = 8
    for i, name in enumerate(series):
        out.append(f'<rect x="{x}" y="31" width="11" height="11" fill="{COLOURS[i]}"/>')
        out.append(f'<text x="{x + 16}" y="41">{html.escape(name)}</text>')
        x += 32 + 7 * len(name)
    y = 56
    for label, values in drawn:
        middle = y + len(values) * BAR / 2 + 4
        out.append(f'<text x="{LABELS - 8}" y="{middle:.0f}" text-anchor="end">{html.escape(label)}</text>')
        for i, value in values:
            text = f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
            width = max(value * scale, 1)
            out.append(f'<rect x="{LABELS}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{COLOURS[i]}"/>')
            out.append(f'<text x="{LABELS + width + 6:.1f}" y="{y + 11}" font-size="11">{text} {unit}</text>')
            y += BAR
        y += GAP
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rates, latencies, matching = [], [], {}
    last = None
    for what, figure, beside in rows_of(sys.stdin):
        lifecycle = re.match(r"(durable )?lifecycle( \(.*?\))?, (\d+) in flight(, any of (\d+) waiting woken)?$", what)
        if lifecycle:
            last = f"{lifecycle[3]} in flight"
            if lifecycle[5]:
                last += f", {int(lifecycle[5]):,} waiting"
            rates.append((last, [number(r"([\d.]+)/s", figure), number(r"([\d.]+)/s", beside)]))
        elif what == "time of one lifecycle" and last:
            percentiles = r"p50 ([\d.]+) ms", r"p99 ([\d.]+) ms"
            latencies.append((last, [number(percentiles[0], figure), number(percentiles[1], figure)]))
            last = None
        elif found := re.match(r"events of 512 B read and matched, (\d+) listeners", what):
            values = [number(r"([\d.]+) M/s", figure), number(r"([\d.]+) M/s", beside), None]
            matching[f"{int(found[1]):,} listeners"] = values
        elif found := re.match(r"events of 264 B read and matched, (\d+) listeners one by one", what):
            matching[f"{int(found[1]):,} listeners"][2] = number(r"([\d.]+)/s", figure) / 1e6
    charts = {
        "lifecycles": bars("Durable lifecycles", "a second", ["millrace", "bare loop"], rates),
        "latency": bars("How long a durable lifecycle takes", "ms", ["p50", "p99"], latencies),
        "matching": bars("Events read and matched", "M/s",
                         ["millrace", "simdjson and a hash table", "one by one"],
                         list(matching.items())),
    }
    for name, svg in charts.items():
        (folder / f"{name}.svg").write_text(svg)


if __name__ == "__main__":
    main()
