// Bounds of messages: a kernel's text can make a name, and so a message, of any length.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

/// Returns about `maxBytes` bytes of a text at most. The middle of a longer text is left out, between two characters, and a note says how
/// much: a message often ends with what is wrong.
inline std::string boundedText(std::string text, size_t maxBytes) {
  if (text.size() <= maxBytes) return text;
  auto isInsideCharacter = [&](size_t at) { return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; };
  size_t end = maxBytes / 2, next = text.size() - maxBytes / 2;
  while (end > 0 && isInsideCharacter(end))
    --end;
  while (isInsideCharacter(next))
    ++next;
  std::string note = " ... (" + std::to_string(next - end) + " more bytes are left out) ... ";
  return text.replace(end, next - end, note);
}

constexpr size_t maxMessageBytes = 16 << 10; // of one message
constexpr size_t maxErrorBytes = 64 << 10;   // of all messages of an error

} // namespace tilewright
