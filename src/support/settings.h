// Environment variables that switch a setting on or off. settings.def lists all settings.
#pragma once

#include <optional>
#include <string_view>

namespace tilewright {

/// Parses a switch. On: 1, true, yes, on, y and every other integer but 0. Off: 0, false, no, off, n. Case and surrounding blanks do not
/// matter. Null for any other word and for an empty one: the setting keeps its default.
std::optional<bool> switchOf(std::string_view word);

/// True if the environment variable switches its setting on.
bool isSwitchedOn(const char *variable, bool byDefault);

} // namespace tilewright
