"""Prints the Chebyshev series of src/evaluate/special_functions.py: `tools/chebyshev.py` (needs mpmath). Each is a smooth part of a special function
on an interval, summed by `_series` there; terms below a hundredth of an ULP of the largest are left out."""

import mpmath as mp

mp.mp.dps = 60


def series(function, low, high, tolerance=mp.mpf(2) ** -60, nodes=96):
    """c[0] / 2 + c[1] T1(t) + ..., t from -1 at low to 1 at high; c[0] is halved already."""
    low, high = mp.mpf(low), mp.mpf(high)
    angles = [mp.pi * (i + mp.mpf(1) / 2) / nodes for i in range(nodes)]
    values = [function((low + high) / 2 + (high - low) / 2 * mp.cos(angle)) for angle in angles]
    terms = [2 / mp.mpf(nodes) * mp.fsum(v * mp.cos(k * a) for v, a in zip(values, angles)) for k in range(nodes)]
    terms[0] /= 2
    largest = max(abs(term) for term in terms)
    while abs(terms[-1]) < tolerance * largest:
        terms.pop()
    return terms


def bessel_parts(order):
    """P and Q of the asymptotic form, exactly: J = sqrt(2 / pi x) (P cos c - Q sin c), Y = sqrt(2 / pi x) (P sin c + Q cos c)."""

    def parts(z):
        x = 8 / mp.sqrt(z)
        c, root = x - (2 * order + 1) * mp.pi / 4, mp.sqrt(mp.pi * x / 2)
        j, y = mp.besselj(order, x) * root, mp.bessely(order, x) * root
        return j * mp.cos(c) + y * mp.sin(c), (y * mp.cos(c) - j * mp.sin(c)) * x / 8

    return (lambda z: parts(z)[0]), (lambda z: parts(z)[1])


def y_rest(order):
    """What is even and entire in Y0, and in Y1 / x."""

    def rest(square):
        x = mp.sqrt(square)
        if order == 0:
            return mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)
        return (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x

    return rest


def table():
    yield "ERFCX", lambda t: mp.exp(u(t) ** 2) * mp.erfc(u(t)) * (1 + 2 * u(t)), -1, 1
    yield "LOG_GAMMA_AT_1", lambda x: mp.loggamma(x) / (x - 1), "0.5", "1.5"
    yield "LOG_GAMMA_AT_2", lambda x: mp.loggamma(x) / (x - 2), "1.5", "3"
    yield "GAMMA", mp.gamma, 2, 3
    yield "STIRLING", lambda z: (mp.loggamma(1 / mp.sqrt(z)) - stirling(1 / mp.sqrt(z))) / mp.sqrt(z), 0, mp.mpf(1) / 100
    for order in (0, 1):
        yield f"J{order}", lambda s: mp.besselj(order, mp.sqrt(s)) / mp.sqrt(s) ** order, 0, 64
        yield f"Y{order}", y_rest(order), 0, 64
        p, q = bessel_parts(order)
        yield f"P{order}", p, 0, 1
        yield f"Q{order}", q, 0, 1
        yield f"I{order}", lambda x: mp.exp(-x) * mp.besseli(order, x) / x**order, 0, 8
        yield f"I{order}_FAR", lambda z: mp.exp(-8 / z) * mp.besseli(order, 8 / z) * mp.sqrt(8 / z), 0, 1


def u(t):
    """From t = (x - 4) / (x + 4)."""
    return 4 * (1 + t) / (1 - t)


def stirling(x):
    return (x - mp.mpf(1) / 2) * mp.log(x) - x + mp.log(2 * mp.pi) / 2


if __name__ == "__main__":
    for name, function, low, high in table():
        terms = ", ".join(repr(float(term)) for term in series(function, low, high))
        print(f"_{name} = tl.constexpr(({terms}))")
