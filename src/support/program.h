// Other programs that this one runs: assemblers and compilers.
#pragma once

#include "support/result.h"

#include <string>
#include <vector>

namespace tilewright {

/// True for a file that this user may execute.
bool isProgram(const std::string &path);

/// Returns the path of a program: `name` itself if it has a slash, else the first match in the folders of PATH. Empty: there is none.
std::string findProgram(const std::string &name);

/// Runs a program without input, and appends what it prints to the file `log`. Returns its exit status, or 128 plus the signal that ended
/// it. Fails with the system's reason.
Result<int> runProgram(std::vector<std::string> words, const std::string &log);

/// Appends the words of a text, which spaces separate.
void addWords(std::vector<std::string> &words, const std::string &text);

} // namespace tilewright
