// Bounds of messages: a kernel's text can make a name, and so a message, of any length.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

/// Returns at most `maxBytes` bytes of a text. A longer text is cut between two characters, and a note says how much is left out.
inline std::string boundedText(std::string text, size_t maxBytes) {
  if (text.size() <= maxBytes) return text;
  size_t end = maxBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  std::string note = " ... (" + std::to_string(text.size() - end) + " more bytes are left out)";
  bool endsLine = text.back() == '\n';
  text.resize(end);
  return text + note + (endsLine ? "\n" : "");
}

constexpr size_t maxMessageBytes = 16 << 10; // of one message
constexpr size_t maxErrorBytes = 64 << 10;   // of all messages of an error

} // namespace tilewright
