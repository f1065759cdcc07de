// What became of a kernel, for its author: facts with the lines of the source that they are about. A back end makes one while the
// operations still exist (cpu/explain.cpp, gpu/explain.cpp); as text, as JSON, and as the page of `tilewright explain --html` it is the
// same for all.
#pragma once

#include "support/launch_guards.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class Location;
class Operation;
class Type;
class Value;
} // namespace mlir

namespace tilewright {

/// A line of a source file; no file: not known.
struct SourceLine {
  std::string file;
  int64_t line = 0;
  auto operator<=>(const SourceLine &) const = default;
};

/// The innermost place in the kernel's own file; places in the language's library are skipped.
SourceLine sourceLineOf(mlir::Location location, llvm::StringRef kernelFile);
/// The file that contains a function; "" where that is not known.
std::string sourceFileOf(mlir::Operation *function);

struct Fact {
  SourceLine where;
  std::string text;
};

struct AssumptionSection {
  std::string title;
  std::vector<Fact> facts;
};

/// Which thread holds which element of a tile: a corner of it, row by row.
struct LayoutPicture {
  struct Owner {
    int64_t warp, lane, element; // of the thread's own
  };
  std::string name, text; // "L3"; the whole text about it
  std::vector<int64_t> lines;
  int64_t rows = 0, columns = 0;
  std::vector<Owner> owners;
};

/// What one part of the machine does in one iteration of a pipelined loop, in the order of the program.
struct TimelineEvent {
  SourceLine where;
  std::string worker, what; // "copies", "tensor cores", "threads"
  int64_t ahead = 0;        // how many iterations before the one that it belongs to
};

struct Timeline {
  SourceLine loop;
  int64_t stages = 1;
  std::vector<TimelineEvent> events; // of one iteration
};

/// How much more memory an access moves than it needs: the cache lines or sectors that it touches, for the bytes of its elements.
struct AccessWaste {
  SourceLine where;
  double ratio = 1; // 8: of eight bytes that come from memory, one is needed
};

/// What a launch has to do, and how long that takes: at least, as estimated, and as measured, in seconds.
struct LaunchTime {
  double programBytes = 0, programOperations = 0; // what one program loads and stores, and computes
  bool isExact = true;                            // false: the number of some loop's iterations is a guess

  int64_t programs = 0;              // of the launch; 0: no launch was described, and nothing more is known
  std::string machine;               // which machine's roof it is, and where that comes from
  double tensorBytes = 0;            // of all tensors, each counted once; 0: not known, so that all loads and stores of the programs count
  double memory = 0, arithmetic = 0; // at the rates of the roof; the launch takes at least the longer of the two
  double bytesPerSecond = 0, operationsPerSecond = 0; // of the roof
  double predicted = 0;
  std::vector<double> measured; // the median, the 20th and the 80th percentile; empty: it did not run
};

struct Explanation {
  std::string kernel, target, file, heading;
  int64_t scratchBytes = 0;           // of a worker on a CPU
  std::vector<std::string> resources; // "shared memory   98304 of 232448 bytes"
  std::optional<LaunchTime> time;
  std::vector<LaunchGuard> facts;
  std::vector<AssumptionSection> sections;
  std::vector<AccessWaste> waste; // accesses that move more than they need
  std::vector<LayoutPicture> layouts;
  std::vector<Timeline> timelines;
};

/// Drops what is said about a line a second time: loops are unrolled, and operations are copied.
void dropRepeated(Explanation &explanation);
std::string explanationText(const Explanation &explanation);
llvm::json::Object explanationJson(const Explanation &explanation);

//===----------------------------------------------------------------------------------------------------------- parts of sentences

/// "128x64 f16"; pointers as "pointers to f16".
std::string tileText(mlir::Type type);
/// "12.40 us".
std::string secondsText(double seconds);
/// Three digits and a unit: "1.18 MB" of 1180000 and "B".
std::string scaledText(double number, llvm::StringRef unit);
/// "1 byte", "2 bytes"; `several` where an s is not enough.
std::string countText(int64_t number, llvm::StringRef one, llvm::StringRef several);
std::string countText(int64_t number, llvm::StringRef one);

/// "a step along dimension 0 moves by cols elements, along dimension 1 by 1": how a tile of pointers is laid out. "" where nobody knows.
std::string stepsText(mlir::Operation *function, mlir::Value pointer);

constexpr size_t explanationWidth = 120; // columns of the text

/// Breaks words into lines of at most this many columns.
std::string paragraph(llvm::StringRef text, size_t indent);

/// The source files of a kernel, where they can be read.
class SourceText {
public:
  /// "matmul.py:60  a = tl.load(...)".
  std::string titled(const SourceLine &where);
  llvm::StringRef code(const SourceLine &where);

private:
  std::map<std::string, std::string> files;
};

} // namespace tilewright
