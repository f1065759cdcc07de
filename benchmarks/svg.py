"""Pictures as SVG, without any library: lines over sizes, and ranges of ratios. Colors follow the reader's light or dark mode."""

import math

WIDTH, HEIGHT, MARGIN = 760, 420, 60
# (light, dark) by class name. `s0` to `s3` are the colors of series.
COLORS = {"background": ("#ffffff", "#0d1117"), "ink": ("#1f2328", "#e6edf3"), "faint": ("#59636e", "#9198a1"), "grid": ("#d1d9e0", "#30363d"),
          "s0": ("#cf222e", "#ff7b72"), "s1": ("#0969da", "#58a6ff"), "s2": ("#1a7f37", "#3fb950"), "s3": ("#8250df", "#bc8cff")}


def escaped(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;")


class Picture:
    """Shapes in the order in which they are drawn. `color` is a name of COLORS, or any color of SVG."""

    def __init__(self, width=WIDTH, height=HEIGHT):
        self.width, self.height, self.shapes = width, height, []

    def paint(self, color, kind="fill"):
        return f'class="{color}-{kind}"' if color in COLORS else f'{kind}="{color}"'

    def text(self, x, y, content, anchor="middle", size=12, color="ink", more=""):
        self.shapes.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" {self.paint(color)}{more and " " + more}>{escaped(content)}</text>')

    def line(self, x1, y1, x2, y2, color="grid", width=1):
        self.shapes.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke-width="{width}" {self.paint(color, "stroke")}/>')

    def polyline(self, points, color, width=1.5):
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.shapes.append(f'<polyline points="{joined}" fill="none" stroke-width="{width}" {self.paint(color, "stroke")}/>')

    def circle(self, x, y, radius, color):
        self.shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" {self.paint(color)}/>')

    def rectangle(self, x, y, width, height, color):
        self.shapes.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {self.paint(color)}/>')

    def path(self, commands, color):
        self.shapes.append(f'<path d="{commands}" {self.paint(color)}/>')

    def __str__(self):
        rules = lambda mode: "".join(f".{name}-fill{{fill:{color[mode]}}}.{name}-stroke{{stroke:{color[mode]}}}" for name, color in COLORS.items())
        return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}" font-family="sans-serif">',
                          f"<style>{rules(0)}@media (prefers-color-scheme: dark){{{rules(1)}}}</style>",
                          '<rect width="100%" height="100%" rx="6" class="background-fill"/>', *self.shapes, "</svg>", ""])


def lines(title, across, upward, sizes, series):
    """Lines over a logarithmic axis of sizes. `series`: by name, one number for each size."""
    picture, low, high = Picture(), math.log2(min(sizes)), math.log2(max(sizes))
    top = 1.1 * max(max(values) for values in series.values())
    step = 10 ** math.floor(math.log10(top / 2))
    while top / step > 8:
        step *= 2
    x_of = lambda size: MARGIN + (math.log2(size) - low) / (high - low) * (WIDTH - 2 * MARGIN)
    y_of = lambda value: HEIGHT - MARGIN - value / top * (HEIGHT - 2 * MARGIN)
    picture.text(WIDTH / 2, 24, title, more='font-weight="bold"')
    for power in range(math.ceil(low), math.floor(high) + 1):
        picture.line(x_of(2**power), MARGIN, x_of(2**power), HEIGHT - MARGIN)
        picture.text(x_of(2**power), HEIGHT - MARGIN + 18, 2**power)
    for i in range(int(top / step) + 1):
        picture.line(MARGIN, y_of(i * step), WIDTH - MARGIN, y_of(i * step))
        picture.text(MARGIN - 6, y_of(i * step) + 4, f"{i * step:g}", "end")
    for number, (name, values) in enumerate(series.items()):
        points = [(x_of(size), y_of(value)) for size, value in zip(sizes, values)]
        picture.polyline(points, f"s{number % 4}")
        for x, y in points:
            picture.circle(x, y, 2, f"s{number % 4}")
        picture.text(points[-1][0] + 6, points[-1][1] + 4, name, "start", color=f"s{number % 4}")
    picture.text(WIDTH / 2, HEIGHT - 14, across)
    picture.text(16, HEIGHT / 2, upward, more=f'transform="rotate(-90 16 {HEIGHT / 2})"')
    return str(picture)


WIDE, LEFT, RIGHT, LANE = 820, 335, 135, 20  # of a picture of ranges: its width, the labels', the numbers', and the height of a row


def ranges(title, sections, low, high, ticks):
    """Ranges on a logarithmic axis. `sections`: [(heading, [(label, worst, mean, best)])]. What is beyond the axis ends in an arrow."""
    height = 64 + sum(26 + LANE * len(rows) for _, rows in sections)
    picture, bottom = Picture(WIDE, height), height - 30
    inside = lambda value: min(max(value, low), high)
    x_of = lambda value: LEFT + math.log(inside(value) / low) / math.log(high / low) * (WIDE - LEFT - RIGHT)
    picture.text(14, 24, title, "start", 14, more='font-weight="bold"')
    for tick in ticks:
        picture.line(x_of(tick), 36, x_of(tick), bottom, "faint" if tick == 1 else "grid")
        picture.text(x_of(tick), bottom + 18, f"{tick:g}x", color="ink" if tick == 1 else "faint")
    y = 36
    for number, (heading, rows) in enumerate(sections):
        picture.text(14, y + 18, heading, "start", color=f"s{(number + 1) % 4}", more='font-weight="bold"')
        y += 26
        for label, worst, mean, best in rows:
            middle, color = y + LANE / 2, f"s{(number + 1) % 4}"
            picture.text(LEFT - 12, middle + 4, label, "end")
            picture.line(x_of(worst), middle, x_of(best), middle, color, 3)
            if best > high:
                picture.path(f"M{x_of(high):.1f} {middle - 5:.1f}l8 5l-8 5z", color)
            picture.circle(x_of(mean), middle, 5, color)
            picture.text(WIDE - RIGHT + 14, middle + 4, f"{mean:.2f}  ({worst:.2f} to {best:.2f})", "start", color="faint", size=11)
            y += LANE
    return str(picture)
