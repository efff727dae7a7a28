#!/usr/bin/env python3
"""Draws a flame graph from the output of `perf script`.

    perf record -F 1999 -g -p PID -- sleep 5
    perf script | bench/flame.py "title" > flame.svg

A box is a function. Its width is its share of the samples; the boxes above it are the functions that
it called. Boxes with less than a thousandth of all samples are left out.
"""
import html
import re
import sys

WIDTH, ROW, TOP = 1200, 17, 40
LEAST_SHARE = 0.001


def read_stacks(lines):
    """Yields (thread, frames), the outermost frame first, for each sample."""
    thread, frames = None, []
    for line in lines:
        if not line.strip():
            if thread is not None and frames:
                yield thread, frames[::-1]
            thread, frames = None, []
        elif not line[0].isspace():
            thread = line.split()[0]
        else:
            match = re.match(r"\s*[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \(", line)
            frames.append(short_name(match.group(1) if match else "?"))
    if thread is not None and frames:
        yield thread, frames[::-1]


def short_name(symbol):
    symbol = symbol.replace("millrace::", "").replace("(anonymous namespace)::", "")
    symbol = re.sub(r"\[abi:[a-z0-9]+\]", "", symbol)
    symbol = symbol.split("(")[0] or symbol
    depth, kept = 0, []
    for char in symbol:  # template arguments are long and add little
        depth += char == "<"
        if depth == 0:
            kept.append(char)
        depth -= char == ">"
    return "".join(kept) or symbol


class Box:
    def __init__(self):
        self.samples = 0
        self.inner = {}


def gather(stacks):
    root = Box()
    for thread, frames in stacks:
        box = root
        box.samples += 1
        for name in [thread] + [frame for frame in frames if frame not in ("?", "[unknown]")]:
            box = box.inner.setdefault(name, Box())
            box.samples += 1
    return root


def depth_of(box, least):
    return 1 + max((depth_of(inner, least) for inner in box.inner.values() if inner.samples >= least), default=0)


def draw(root, title):
    least = root.samples * LEAST_SHARE
    height = TOP + ROW * depth_of(root, least)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="22" font-size="15">{html.escape(title)}</text>',
    ]

    def put(name, box, x, level):
        width = WIDTH * box.samples / root.samples
        y = height - ROW * (level + 1)
        share = 100 * box.samples / root.samples
        hue = 20 + sum(map(ord, name)) % 35
        out.append(
            f'<g><title>{html.escape(name)}: {share:.1f} %</title>'
            f'<rect x="{x:.1f}" y="{y}" width="{max(width - 0.5, 0.5):.1f}" height="{ROW - 1}" fill="hsl({hue},85%,68%)"/>'
        )
        letters = int((width - 6) / 6)
        if letters > 2:
            shown = name if len(name) <= letters else name[: letters - 1] + "…"
            out.append(f'<text x="{x + 3:.1f}" y="{y + 12}">{html.escape(shown)}</text>')
        out.append("</g>")
        for inner_name, inner in sorted(box.inner.items()):
            if inner.samples >= least:
                put(inner_name, inner, x, level + 1)
            x += WIDTH * inner.samples / root.samples

    put("all", root, 0, 0)
    return "\n".join(out + ["</svg>"])


if __name__ == "__main__":
    print(draw(gather(read_stacks(sys.stdin)), sys.argv[1] if len(sys.argv) > 1 else "flame graph"))
