// What became of a kernel, for its author: facts with the lines of the source that they are about. A back end makes one while the
// operations still exist (cpu/explain.cpp, gpu/explain.cpp); as text, as JSON, and as the page of `tilewright explain --html` it is the
// same for all.
#pragma once

#include "support/launch_facts.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <string>
#include <vector>

namespace mlir {
class Location;
class Operation;
class Type;
} // namespace mlir

namespace tilewright {

/// A line of a source file; no file: not known.
struct SourceLine {
  std::string file;
  int64_t line = 0;
  auto operator<=>(const SourceLine &) const = default;
};

/// The innermost place in the kernel's own file; functions of the language's library are on the way.
SourceLine sourceLineOf(mlir::Location location, llvm::StringRef kernelFile);
/// The file that a function stands in; "" where that is not known.
std::string sourceFileOf(mlir::Operation *function);

struct Fact {
  SourceLine where;
  std::string text;
};

struct FactSection {
  std::string title;
  std::vector<Fact> facts;
};

/// Which thread holds which element of a tile: a corner of it, row by row.
struct LayoutPicture {
  struct Owner {
    int64_t warp, lane, element; // of the thread's own
  };
  std::string name, text; // "L3"; all that is said of it
  std::vector<int64_t> lines;
  int64_t rows = 0, columns = 0;
  std::vector<Owner> owners;
};

/// What one part of the machine does in one iteration of a pipelined loop, in the order of the program.
struct TimelineEvent {
  SourceLine where;
  std::string worker, what; // "copies", "tensor cores", "threads"
  int64_t ahead = 0;        // so many iterations before the one that it belongs to
};

struct Timeline {
  SourceLine loop;
  int64_t stages = 1;
  std::vector<TimelineEvent> events; // of one iteration
};

struct Explanation {
  std::string kernel, target, file, heading;
  std::vector<std::string> resources; // "shared memory   98304 of 232448 bytes"
  std::vector<LaunchFact> facts;
  std::vector<FactSection> sections;
  std::vector<LayoutPicture> layouts;
  std::vector<Timeline> timelines;
};

/// Leaves out what is said of a line a second time: loops are unrolled, and operations are copied.
void dropRepeated(Explanation &explanation);
std::string explanationText(const Explanation &explanation);
llvm::json::Object explanationJson(const Explanation &explanation);

//===----------------------------------------------------------------------------------------------------------- parts of sentences

/// "128x64 f16"; pointers as "pointers to f16".
std::string tileText(mlir::Type type);
/// "1 byte", "2 bytes"; `several` where an s is not enough.
std::string countText(int64_t number, llvm::StringRef one, llvm::StringRef several);
std::string countText(int64_t number, llvm::StringRef one);

constexpr size_t explanationWidth = 120; // columns of the text

/// Words broken into lines of at most so many columns.
std::string paragraph(llvm::StringRef text, size_t indent);

/// The source files of a kernel, as far as they are there.
class SourceText {
public:
  /// "matmul.py:60  a = tl.load(...)".
  std::string titled(const SourceLine &where);
  llvm::StringRef code(const SourceLine &where);

private:
  std::map<std::string, std::string> files;
};

} // namespace tilewright
