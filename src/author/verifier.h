// Verifies that a kernel computes the same as its reference. The command line and Python (verify.py), and C and C++ (src/api/verify.cpp),
// use this verifier. Their callbacks make inputs, run functions in memory that they have filled, and return the results. This file selects
// the variants, compares the results and writes the report.
//
//   for each variant       fresh inputs
//     the reference        its results are the expected ones
//     the kernel, twice    memory filled with two patterns: an element that has both of them after the runs was not written. The second run
//                          uses many threads
//     the kernel, checked  on the interpreter, up to a limit of work: races between programs, bad addresses, undefined elements
//     the kernel again     if an element is wrong: finds the program that wrote it
#pragma once

#include "author/report.h"

#include <functional>

namespace tilewright::author {

/// One input, or one result, of a run.
struct VerifiedValue {
  std::string name; // as messages call it: "output 0", "input x", "c"
  std::string type; // "float32"; the class name of anything but a tensor
  std::string text; // "float32[64, 32]"
  bool isTensor = false;
  bool hasShape = false; // elements can be compared
  bool isFloat = false, isOnGpu = false;
  std::vector<int64_t> shape;
  uint64_t address = 0;
  size_t width = 0;                   // bytes of an element
  std::function<Numbers()> numbers;   // its elements; `data` is null after an error
  std::function<std::string()> bytes; // for a tensor: the bytes of all elements in row-major order
};

/// The results of one run of a function.
struct VerifiedRun {
  std::optional<std::string> raised;                 // the error that ended it
  std::optional<std::vector<VerifiedValue>> results; // nothing: the function returned nothing
  std::vector<VerifiedValue> inputs;                 // after the run; tensors and others
  bool hasDot = false;                               // at least one kernel has a dot
  std::vector<std::string> outOfBounds;              // the tensors with writes outside of them: "input x (float32[3])"
};

/// The callbacks of a front end. Null or false ends the verification; the front end knows the reason.
struct VerifierCallbacks {
  std::string kernel = "kernel_fn", reference = "reference_fn"; // the names of the functions in messages
  std::string raises = "raises";                                // the verb for a function that ends with an error
  /// Makes fresh inputs for a variant, which stay the same until the next call. `seed` counts the variants.
  std::function<std::optional<std::vector<VerifiedValue>>(const Variant &variant, uint64_t seed)> begin;
  std::function<std::optional<VerifiedRun>(bool isReference, size_t pattern)> run;
  /// Finds the program that wrote an element in the kernel's first run: of result `result`, or, if that is nothing, of input `input`.
  std::function<std::optional<Writer>(std::optional<size_t> result, size_t input, size_t offset)> findWriter;
  /// Runs the kernel on the interpreter with all checks, up to so many computed elements. Returns the first fault; empty if there is none,
  /// or if the interpreter cannot run the kernel. Null ends the verification. May be empty.
  std::function<std::optional<std::string>(int64_t maxWork)> findFault;
  /// Called with each result as it is found.
  std::function<bool(const VerifyResult &result)> report;
};

struct VerifierOptions {
  std::optional<double> relative, absolute; // nothing: chosen by type
};

/// Verifies a kernel. Returns nothing if a callback ended it. Sets `failure` if the reference fails for the inputs as given, so that there
/// is nothing to compare with.
std::optional<Report> verify(llvm::ArrayRef<Variant> variants, const VerifierOptions &options, const VerifierCallbacks &callbacks,
                             std::string &failure);

} // namespace tilewright::author
