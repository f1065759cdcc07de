"""Lines over sizes, as SVG, without any library. The sizes' axis is logarithmic, the other starts at zero."""

import math

WIDTH, HEIGHT, MARGIN = 760, 420, 60
COLORS = ["#d62728", "#1f77b4", "#2ca02c", "#9467bd"]


def text(x, y, content, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12" font-family="sans-serif" {more}>{content}</text>'


def line(x1, y1, x2, y2):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def lines(title, across, upward, sizes, series):
    """`series`: by name, one number for each size."""
    low, high = math.log2(min(sizes)), math.log2(max(sizes))
    top = 1.1 * max(max(values) for values in series.values())
    step = 10 ** math.floor(math.log10(top / 2))
    while top / step > 8:
        step *= 2
    place_x = lambda size: MARGIN + (math.log2(size) - low) / (high - low) * (WIDTH - 2 * MARGIN)
    place_y = lambda value: HEIGHT - MARGIN - value / top * (HEIGHT - 2 * MARGIN)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">',
             '<rect width="100%" height="100%" fill="white"/>', text(WIDTH / 2, 24, title, more='font-weight="bold"')]
    for power in range(math.ceil(low), math.floor(high) + 1):
        x = place_x(2**power)
        parts.append(line(x, MARGIN, x, HEIGHT - MARGIN) + text(x, HEIGHT - MARGIN + 18, 2**power))
    for i in range(int(top / step) + 1):
        y = place_y(i * step)
        parts.append(line(MARGIN, y, WIDTH - MARGIN, y) + text(MARGIN - 6, y + 4, f"{i * step:g}", "end"))
    for color, (name, values) in zip(COLORS, series.items()):
        points = [(place_x(size), place_y(value)) for size, value in zip(sizes, values)]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{joined}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{color}"/>' for x, y in points]
        parts.append(text(points[-1][0] + 6, points[-1][1] + 4, name, "start", f'fill="{color}"'))
    parts.append(text(WIDTH / 2, HEIGHT - 14, across))
    parts.append(text(16, HEIGHT / 2, upward, more=f'transform="rotate(-90 16 {HEIGHT / 2})"'))
    return "\n".join([*parts, "</svg>", ""])
