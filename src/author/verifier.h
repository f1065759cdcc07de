// Does a kernel compute what its reference computes? One judge for all doors: the command line and Python (verify.py), C and C++
// (src/api/verify.cpp). A door makes inputs, runs functions in memory that it has filled, and says what they left there; which variants are
// tried, what is right, and what is said of it, is decided here.
//
//   for each variant       inputs made anew
//     the reference        what it leaves is expected
//     the kernel, twice    memory filled with two patterns: an element that has both of them after the runs was not written. The second run
//                          uses many threads
//     the kernel, checked  on the interpreter, as far as a limit of work goes: races between programs, bad addresses, undefined elements
//     the kernel again     where an element is wrong: which program wrote it
#pragma once

#include "author/report.h"

#include <functional>

namespace tilewright::author {

/// One input, or one result, of a run.
struct VerifiedOutput {
  std::string name; // as messages call it: "output 0", "input x", "c"
  std::string type; // "float32"; of what is no tensor the name of its class
  std::string text; // "float32[64, 32]"
  bool isTensor = false;
  bool hasShape = false; // it may be compared element by element
  bool isFloat = false, isOnGpu = false;
  std::vector<int64_t> shape;
  uint64_t address = 0;
  size_t width = 0;                   // bytes of an element
  std::function<Numbers()> numbers;   // its elements; `data` null after an error
  std::function<std::string()> bytes; // of a tensor: all elements in row-major order as they are in memory
};

/// What a run of one of the two functions left.
struct VerifiedRun {
  std::optional<std::string> raised;          // the error that ended it
  std::optional<std::vector<VerifiedOutput>> results; // nothing: it returned nothing
  std::vector<VerifiedOutput> inputs;                 // behind the run; tensors and others
  bool hasProduct = false;                    // one of its kernels multiplies matrices
  std::vector<std::string> outOfBounds;       // the tensors around which something was written: "input x (float32[3])"
};

/// How a door runs things. What gives nothing, or false, ends the verification: the door knows why.
struct VerifierCallbacks {
  std::string kernel = "kernel_fn", reference = "reference_fn"; // what messages call the functions
  std::string raises = "raises";                                // and what it is that ends one
  /// Makes fresh inputs for a variant. They stay the same until the next one; `seed` counts the variants.
  std::function<std::optional<std::vector<VerifiedOutput>>(const Variant &variant, uint64_t seed)> begin;
  std::function<std::optional<VerifiedRun>(bool isReference, size_t pattern)> run;
  /// Who wrote this element of what the kernel's first run left: result `index`, or, where that is nothing, input `input`.
  std::function<std::optional<Writer>(std::optional<size_t> result, size_t input, size_t place)> findWriter;
  /// Runs the kernel on the interpreter with all checks, up to so many elements computed. The first fault; empty if none was found, or if
  /// the interpreter cannot run the kernel. Null ends the verification. May be empty.
  std::function<std::optional<std::string>(int64_t maxWork)> findFault;
  /// Called with each verdict as it is found.
  std::function<bool(const VerifyResult &verdict)> tell;
};

struct VerifierOptions {
  std::optional<double> relative, absolute; // nothing: by type
};

/// Nothing where the door ended it. `failure`: set where the reference does not work for the inputs as given, so that nothing can be
/// judged.
std::optional<Report> verify(llvm::ArrayRef<Variant> variants, const VerifierOptions &options, const VerifierCallbacks &callbacks, std::string &failure);

} // namespace tilewright::author
