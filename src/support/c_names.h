// Names, comments and code in generated C, which compile as C and as C++ whatever a kernel calls its parameters and whatever its texts
// contain.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// True if the name is an identifier of C: ASCII letters, digits and underscores.
bool isCName(std::string_view name);

/// Returns why a function in C cannot have this name, or nothing. It is not an identifier, a keyword of C or C++, a name of
/// tilewright/runtime.h or its standard headers, reserved for compilers, or a function of the C library.
std::string problemOfFunctionName(std::string_view name);

/// Returns names for the parameters of a function in C, in order and all different. Keywords, macros of standard headers and the names in
/// `taken` get an underscore at their end, names reserved for compilers become parameter0_, parameter1_, ...; other names stay.
std::vector<std::string> parameterNames(const std::vector<std::string> &names, const std::vector<std::string> &taken);

/// Returns the text for one line of a comment in C: without the begin or end of a comment, and without control characters.
std::string commentText(std::string_view text);

/// Returns the statement at file scope, of GNU's dialect, that assembles a text into the section for code.
std::string assemblyStatement(std::string_view assembly);

} // namespace tilewright
