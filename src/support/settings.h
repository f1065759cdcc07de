// Settings of the environment that are switched on or off. settings.def lists all settings.
#pragma once

#include <optional>
#include <string_view>

namespace tilewright {

/// What a word says of a switch. On: 1, true, yes, on, y and every other whole number but 0. Off: 0, false, no, off, n. Letters may be of
/// either case, and blanks around the word do not count. Null for any other word and for none: the setting then keeps its default.
std::optional<bool> switchOf(std::string_view word);

/// Whether the environment variable switches its setting on.
bool isSwitchedOn(const char *variable, bool byDefault);

} // namespace tilewright
