"""Whether two measurements differ by more than chance."""

import math
import statistics


def interval(times):
    """Between which times the median lies, 99 times of 100, whatever the times are distributed like: a pair of order statistics."""
    times = sorted(times)
    # The number of times below the median is binomial.
    reach = 2.576 * math.sqrt(len(times)) / 2
    low, high = math.floor(len(times) / 2 - reach), math.ceil(len(times) / 2 + reach)
    return times[max(low, 0)], times[min(high, len(times) - 1)]


def compare(old, new, drift=1.0):
    """"faster", "slower" or "same" for lists of times. drift: by which factor the machine itself was slower the second time."""
    (old_low, old_high), (new_low, new_high) = interval(old), [bound / drift for bound in interval(new)]
    if new_high < old_low:
        return "faster"
    return "slower" if new_low > old_high else "same"


def ratio(old, new):
    return statistics.median(new) / statistics.median(old)
