"""The roofline: a kernel as a point, under what memory and arithmetic allow at its intensity. As SVG, without any library."""

import math

_WIDTH, _HEIGHT, _MARGIN = 720, 440, 64


class _Axes:
    """Both logarithmic."""

    def __init__(self, x_range, y_range):
        self.x_range, self.y_range = [tuple(math.log10(bound) for bound in bounds) for bounds in (x_range, y_range)]

    def place(self, x, y):
        def share(value, bounds):
            return (math.log10(value) - bounds[0]) / (bounds[1] - bounds[0])

        return (_MARGIN + share(x, self.x_range) * (_WIDTH - 2 * _MARGIN), _HEIGHT - _MARGIN - share(y, self.y_range) * (_HEIGHT - 2 * _MARGIN))


def _decades(bounds):
    return range(math.floor(math.log10(bounds[0])), math.ceil(math.log10(bounds[1])) + 1)


def _text(x, y, text, anchor="middle", more=""):
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12" font-family="sans-serif" {more}>{text}</text>'


def draw(title, intensity, rate, bandwidth, peak):
    """intensity in operations a byte, the others in operations and bytes a second; the picture as text."""
    ridge = peak / bandwidth
    xs = 10.0 ** math.floor(math.log10(min(intensity, ridge)) - 0.5), 10.0 ** math.ceil(math.log10(max(intensity, ridge)) + 0.5)
    ys = 10.0 ** math.floor(math.log10(min(rate, xs[0] * bandwidth))), 10.0 ** math.ceil(math.log10(max(rate, peak)) + 0.1)
    axes = _Axes(xs, ys)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}">',
             '<rect width="100%" height="100%" fill="white"/>', _text(_WIDTH / 2, 24, title, more='font-weight="bold"')]
    for decade in _decades(xs):
        x, bottom = axes.place(10.0**decade, ys[0])
        if _MARGIN - 1 <= x <= _WIDTH - _MARGIN + 1:
            parts.append(f'<line x1="{x:.1f}" y1="{_MARGIN}" x2="{x:.1f}" y2="{bottom:.1f}" stroke="#ddd"/>' + _text(x, bottom + 18, f"{10.0**decade:g}"))
    for decade in _decades(ys):
        left, y = axes.place(xs[0], 10.0**decade)
        if _MARGIN - 1 <= y <= _HEIGHT - _MARGIN + 1:
            parts.append(f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{_WIDTH - _MARGIN}" y2="{y:.1f}" stroke="#ddd"/>'
                         + _text(left - 6, y + 4, f"{10.0**decade / 1e9:g}", "end"))
    corners = [(xs[0], xs[0] * bandwidth), (ridge, peak), (xs[1], peak)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (axes.place(*corner) for corner in corners))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#1f77b4" stroke-width="2"/>')
    x, y = axes.place(intensity, rate)
    _, top = axes.place(intensity, min(peak, intensity * bandwidth))
    parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{top:.1f}" stroke="#d62728" stroke-dasharray="4"/>')
    share = rate / min(peak, intensity * bandwidth)
    parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="#d62728"/>' + _text(x + 10, y + 4, f"{rate / 1e9:.4g} GFLOP/s, {share:.0%}", "start"))
    parts.append(_text(*(place + shift for place, shift in zip(axes.place(*corners[0]), (14, 4))), f"{bandwidth / 1e9:.4g} GB/s", "start"))
    parts.append(_text(_WIDTH - _MARGIN, axes.place(*corners[2])[1] - 8, f"{peak / 1e9:.4g} GFLOP/s", "end"))
    parts.append(_text(_WIDTH / 2, _HEIGHT - 16, "operations a byte"))
    parts.append(_text(18, _HEIGHT / 2, "GFLOP/s", more=f'transform="rotate(-90 18 {_HEIGHT / 2})"'))
    return "\n".join([*parts, "</svg>", ""])
