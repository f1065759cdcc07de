// Explains to a kernel's author how it was compiled: remarks with source lines. A back end creates the explanation while the operations
// exist (cpu/explain.cpp, gpu/explain). The output as text, JSON or the page of `tilewright explain --html` is common to all back ends.
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

/// A line of a source file. Without a file, it is unknown.
struct SourceLine {
  std::string file;
  int64_t line = 0;
  auto operator<=>(const SourceLine &) const = default;
};

/// Returns the innermost location in the kernel's own file, skipping locations in the language's library.
SourceLine sourceLineOf(mlir::Location location, llvm::StringRef kernelFile);
/// Returns the file that contains a function, or "".
std::string sourceFileOf(mlir::Operation *function);

struct Remark {
  SourceLine where;
  std::string text;
};

struct RemarkSection {
  std::string title;
  std::vector<Remark> remarks;
};

/// The thread that holds each element of a tile: a corner of the tile, row by row.
struct LayoutPicture {
  struct Owner {
    int64_t warp, lane, element; // the index among the thread's elements
  };
  std::string name, text; // "L3"; its description
  std::vector<int64_t> lines;
  int64_t rows = 0, columns = 0;
  std::vector<Owner> owners;
};

/// The work of one hardware unit in one iteration of a pipelined loop, in program order.
struct TimelineEvent {
  SourceLine where;
  std::string worker, what;     // "copies", "tensor cores", "threads"
  int64_t prefetchDistance = 0; // in iterations
};

struct Timeline {
  SourceLine loop;
  int64_t stages = 1;
  std::vector<TimelineEvent> events; // of one iteration
};

/// The traffic of an access compared with the bytes of its elements: whole cache lines or sectors are moved.
struct AccessWaste {
  SourceLine where;
  double ratio = 1; // 8: one of eight moved bytes is used
};

/// The work of a launch and its time in seconds: lower bound, estimate and measurement.
struct LaunchTime {
  double programBytes = 0, programOperations = 0; // of one program: bytes loaded and stored, operations
  bool isExact = true;                            // false: the trip count of a loop is a guess

  int64_t programs = 0;                               // of the launch; 0: no launch was given, and the fields below are unknown
  std::string machine;                                // the machine of the peak rates, and their source
  double tensorBytes = 0;                             // of all tensors, each counted once; 0: unknown, then all loads and stores count
  double memory = 0, arithmetic = 0;                  // times at the peak rates; the larger one is the lower bound
  double bytesPerSecond = 0, operationsPerSecond = 0; // the peak rates
  double predicted = 0;
  /// The busy fractions of an SM's units by the model of an SM, with their names, the busiest first; empty: the prediction ignores
  /// dependences.
  std::vector<std::pair<std::string, double>> busy;
  bool isComplete = true;       // false: the model of an SM has met a wait that it could not resolve, and is not used
  bool knowsRegisters = true;   // false: more CTAs may share an SM in the model than registers permit
  std::vector<double> measured; // the median, the 20th and the 80th percentile; empty: it did not run
};

struct Explanation {
  std::string kernel, target, file, heading;
  int64_t scratchBytes = 0;           // of a worker on a CPU
  std::vector<std::string> resources; // "shared memory   98304 of 232448 bytes"
  std::optional<LaunchTime> time;
  std::vector<LaunchGuard> guards;
  std::vector<RemarkSection> sections;
  std::vector<AccessWaste> waste; // accesses that move more bytes than they use
  std::vector<LayoutPicture> layouts;
  std::vector<Timeline> timelines;
};

/// Drops repeated remarks about a line, which unrolled loops and copied operations produce.
void dropRepeated(Explanation &explanation);
std::string explanationText(const Explanation &explanation);
llvm::json::Object explanationJson(const Explanation &explanation);

//===----------------------------------------------------------------------------------------------------------- parts of sentences

/// Returns "128x64 f16", or "pointers to f16".
std::string tileText(mlir::Type type);
/// Returns "12.40 us".
std::string secondsText(double seconds);
/// Returns three digits and a unit: "1.18 MB" for 1180000 and "B".
std::string scaledText(double number, llvm::StringRef unit);
/// Returns "1 byte" or "2 bytes". `several` is an irregular plural.
std::string countText(int64_t number, llvm::StringRef one, llvm::StringRef several);
std::string countText(int64_t number, llvm::StringRef one);

/// Returns the strides of a tile of pointers: "a step along dimension 0 moves by cols elements, along dimension 1 by 1". "" if unknown.
std::string stepsText(mlir::Operation *function, mlir::Value pointer);

constexpr size_t explanationWidth = 120; // columns of the text

/// Wraps the text at `explanationWidth` columns.
std::string paragraph(llvm::StringRef text, size_t indent);

/// The readable source files of a kernel.
class SourceText {
public:
  /// Returns "matmul.py:60  a = tl.load(...)".
  std::string titled(const SourceLine &where);
  llvm::StringRef code(const SourceLine &where);

private:
  std::map<std::string, std::string> files;
};

} // namespace tilewright
