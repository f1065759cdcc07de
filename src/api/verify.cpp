// twVerify: the verifier (src/author/verifier.h) for host code in C and C++.
#include "api/sized.h"
#include "api/subject.h"

#include "runtime/cuda/device.h"
#include "runtime/element.h"
#include "runtime/pool.h"
#include "runtime/write_watch.h"

#include <cmath>

namespace tilewright::api {

//===------------------------------------------------------------------------------------------------------------ the subject

/// Returns the text of an error and frees the error.
static std::string takeText(TwError *error) {
  std::string text = error ? error->text : "it gives no reason";
  twErrorFree(error);
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

Result<std::vector<Input>> inputsOf(const TwSubject &subject, uint64_t seed) {
  const TwTensor *tensors = nullptr;
  size_t count = 0;
  TwError *error = nullptr;
  std::string thrown;
  bool isMade = callCaller([&] { return subject.inputs(subject.context, seed, &tensors, &count, &error) != 0; }, false, thrown);
  if (!thrown.empty()) return Failure{"the inputs: " + thrown};
  if (!isMade) return Failure{"the inputs: " + takeText(error)};
  twErrorFree(error);
  return readInputs(tensors, count);
}

std::optional<TwSubject> readSubject(const TwSubject *given, const char *purpose, TwError **error) {
  if (!given) return setError(error, TW_ERROR_INVALID_ARGUMENT, "there is no subject to " + std::string(purpose) + "\n"), std::nullopt;
  TwSubject subject;
  std::string problem = readSized(given, subject, "TwSubject");
  if (!problem.empty()) return setError(error, TW_ERROR_INVALID_ARGUMENT, problem + "\n"), std::nullopt;
  return subject;
}

std::optional<Tensors> makeTensors(const std::vector<Input> &inputs, size_t pattern, const gpu::CudaDevice *device,
                                   Diagnostics &diagnostics) {
  Tensors tensors;
  for (const Input &input : inputs) {
    // Each tensor of the second run has other guard bytes. They reveal a kernel that copies from outside of one tensor to outside of
    // another.
    constexpr unsigned char firstAround = 0x40;
    auto around = pattern == 0 ? author::patterns[0] : static_cast<unsigned char>(firstAround + tensors.size() % 32);
    tensors.push_back(GuardedTensor::create(input, author::patterns[pattern], around, device, diagnostics));
    if (!tensors.back()) return std::nullopt;
  }
  return tensors;
}

std::optional<std::string> callHost(TwFunction function, void *context, const Tensors &tensors) {
  std::vector<TwTensor> views;
  for (const auto &tensor : tensors)
    views.push_back(tensor->view());
  std::vector<const TwTensor *> addresses;
  for (const TwTensor &view : views)
    addresses.push_back(&view);
  TwError *error = nullptr;
  std::string thrown;
  bool works = callCaller([&] { return function(context, addresses.data(), addresses.size(), &error) != 0; }, false, thrown);
  if (!thrown.empty()) return thrown;
  if (!works) return takeText(error);
  twErrorFree(error);
  return std::nullopt;
}

//===----------------------------------------------------------------------------------------------------------- the verifier

namespace {

constexpr int64_t manyThreads = 8; // in the second run: a race needs several threads

class ForcedThreads {
public:
  explicit ForcedThreads(int64_t threads) : before(std::exchange(forcedThreads(), threads)) {}
  ~ForcedThreads() { forcedThreads() = before; }
  ForcedThreads(const ForcedThreads &) = delete;
  ForcedThreads &operator=(const ForcedThreads &) = delete;

private:
  int64_t before;
};

class Verification {
public:
  Verification(const TwSubject &subject, const TwVerifyOptions &options, const gpu::CudaDevice *device)
      : subject(subject), options(options), device(device) {}

  Result<author::Report> run() {
    Result<std::vector<Input>> first = inputsOf(subject, options.seed);
    if (!first) return Failure{first.error()};
    std::vector<author::InputProperties> properties;
    for (const Input &input : *first)
      properties.push_back(input.properties());
    author::VerifierOptions tolerances;
    if (options.rtol >= 0) tolerances.relative = options.rtol;
    if (options.atol >= 0) tolerances.absolute = options.atol;
    std::string reference;
    std::optional<author::Report> report = author::verify(variantsOf(properties, kinds()), tolerances, callbacks(), reference);
    if (report) return std::move(*report);
    return Failure{reference.empty() ? failure : reference};
  }

private:
  std::vector<author::VariantKind> kinds() const {
    std::vector<author::VariantKind> wanted;
    for (author::VariantKind kind : author::allKinds)
      if (options.variants == 0 || options.variants >> static_cast<unsigned>(kind) & 1) wanted.push_back(kind);
    return wanted;
  }

  author::VerifierCallbacks callbacks() {
    author::VerifierCallbacks made;
    made.kernel = "the kernel", made.reference = "the reference", made.raises = "fails:";
    made.begin = [this](const author::Variant &variant, uint64_t number) { return begin(variant, number); };
    made.run = [this](bool isReference, size_t pattern) { return runOnce(isReference, pattern); };
    made.findWriter = [this](std::optional<size_t>, size_t input, size_t offset) { return findWriter(input, offset); };
    made.findFault = [this](int64_t maxWork) { return findFault(maxWork); };
    made.report = [](const author::VerifyResult &) { return true; };
    return made;
  }

  std::optional<std::vector<author::VerifiedValue>> begin(const author::Variant &variant, uint64_t number) {
    Result<std::vector<Input>> fresh = inputsOf(subject, options.seed + number);
    if (!fresh) {
      failure = fresh.error();
      return std::nullopt;
    }
    inputs.clear();
    for (const Input &input : *fresh)
      inputs.push_back(derived(input, variant));
    Diagnostics diagnostics;
    std::optional<Tensors> tensors = makeTensors(inputs, 0, nullptr, diagnostics);
    return tensors ? std::optional(verifiedValues(*tensors)) : ended(diagnostics);
  }

  static std::vector<author::VerifiedValue> verifiedValues(const Tensors &tensors) {
    std::vector<author::VerifiedValue> made;
    for (const auto &tensor : tensors)
      made.push_back(tensor->verifiedValue());
    return made;
  }

  std::nullopt_t ended(const Diagnostics &diagnostics) {
    failure = diagnostics.render();
    return std::nullopt;
  }

  std::optional<author::VerifiedRun> runOnce(bool isReference, size_t pattern) {
    Diagnostics diagnostics;
    std::optional<Tensors> tensors = makeTensors(inputs, pattern, isReference ? nullptr : device, diagnostics);
    if (!tensors) return ended(diagnostics);
    author::VerifiedRun run;
    bool isInterpreted = isReference && !subject.reference;
    using Mode = HostCall::Mode;
    ForcedThreads forced(pattern == 0 ? 0 : manyThreads);
    HostCall call(isInterpreted ? Mode::interpreted : !isReference && pattern == 0 ? Mode::counted : Mode::plain);
    run.raised = callHost(isReference && !isInterpreted ? subject.reference : subject.kernel, subject.context, *tensors);
    run.hasDot = call.hasDot;
    if (run.raised) return run;
    for (const auto &tensor : *tensors)
      if (!tensor->fetch(diagnostics)) {
        run.raised = diagnostics.render(); // errors of the launches that are reported late
        return run;
      }
    run.inputs = verifiedValues(*tensors);
    for (const auto &[tensor, input] : llvm::zip(*tensors, run.inputs))
      if (!tensor->isUntouchedAround()) run.outOfBounds.push_back(input.name + " (" + input.text + ")");
    return run;
  }

  /// Runs the kernel on the interpreter, on the CPU. If a launch is too large for `maxWork`, it and all later ones stop there.
  std::optional<std::string> findFault(int64_t maxWork) {
    Diagnostics diagnostics;
    std::optional<Tensors> tensors = makeTensors(inputs, 0, nullptr, diagnostics);
    if (!tensors) return ended(diagnostics);
    HostCall call(HostCall::Mode::checked);
    call.maxWork = maxWork;
    callHost(subject.kernel, subject.context, *tensors); // its error does not matter: the compiled kernel has run
    return call.fault.empty() ? "" : "the interpreter reports an error: " + call.fault;
  }

  /// Finds the program that writes an element. It watches the same kernel on the CPU, one program after another.
  std::optional<author::Writer> findWriter(size_t input, size_t offset) {
    Diagnostics ignored;
    std::optional<Tensors> tensors = makeTensors(inputs, 0, nullptr, ignored);
    if (!tensors) return std::nullopt;
    watchWrites(WriteWatch((*tensors)[input]->element(offset), static_cast<size_t>(byteSize(inputs[input].type))));
    callHost(subject.kernel, subject.context, *tensors); // if it fails, the writer is unknown, and the result stays
    std::optional<author::Writer> writer;
    if (WriteWatch *watch = watchedWrites(); watch && watch->lastWriter())
      writer = author::Writer{watch->lastWriter()->kernel, watch->lastWriter()->program};
    watchWrites(std::nullopt);
    return writer;
  }

  const TwSubject &subject;
  const TwVerifyOptions &options;
  const gpu::CudaDevice *device;
  std::vector<Input> inputs; // of this variant
  std::string failure;
};

} // namespace

Result<author::Report> verifySubject(const TwSubject &subject, const TwVerifyOptions *options) {
  TwVerifyOptions wanted{sizeof(TwVerifyOptions), -1, -1, -1, 0, 0};
  if (options)
    if (std::string problem = readSized(options, wanted, "TwVerifyOptions"); !problem.empty()) return Failure{problem};
  if (!subject.kernel || !subject.inputs) return Failure{"there is no kernel to verify, or no inputs"};
  constexpr uint32_t allVariants = TW_GIVEN | TW_STRIDED | TW_EMPTY | TW_ONE | TW_ODD;
  if (wanted.variants & ~allVariants)
    return Failure{"variants is " + std::to_string(wanted.variants) + ", which is not a combination of TW_GIVEN to TW_ODD"};
  if (!(wanted.rtol < HUGE_VAL) || !(wanted.atol < HUGE_VAL)) return Failure{"rtol and atol have to be finite"};
  if (wanted.device < -1)
    return Failure{"device is " + std::to_string(wanted.device) + "; -1 is the host, and CUDA devices are numbered from 0"};
  Diagnostics diagnostics;
  const gpu::CudaDevice *device = wanted.device >= 0 ? gpu::CudaDevice::get(wanted.device, diagnostics) : nullptr;
  if (diagnostics.hasErrors()) return Failure{diagnostics.render()};
  return Verification(subject, wanted, device).run();
}

} // namespace tilewright::api

//===---------------------------------------------------------------------------------------------------------- the C interface

using namespace tilewright;
using namespace tilewright::api;

struct TwReport {
  author::Report report;
  std::string text, json;
  struct Indices {
    std::vector<int64_t> worst, unwritten;
  };
  std::vector<std::vector<Indices>> indices; // by variant and output
};

/// False if a pointer that leads to the element is null.
static bool hasElement(const TwTensor *tensor, const int64_t *index) {
  return tensor && tensor->data && (tensor->rank == 0 || (index && tensor->strides));
}

extern "C" {

double twTensorGet(const TwTensor *tensor, const int64_t *index) {
  if (!hasElement(tensor, index)) return NAN;
  return loadElement(scalarOf(tensor->type), addressOf(*tensor, index));
}
void twTensorSet(const TwTensor *tensor, const int64_t *index, double value) {
  if (!hasElement(tensor, index)) return;
  storeElement(scalarOf(tensor->type), addressOf(*tensor, index), value);
}

static TwReport *reportOf(author::Report found) {
  auto made = std::make_unique<TwReport>(TwReport{std::move(found), "", "", {}});
  made->text = made->report.text(), made->json = made->report.json();
  for (const author::VerifyResult &result : made->report.results) {
    std::vector<TwReport::Indices> &all = made->indices.emplace_back();
    for (const author::Output &output : result.outputs) {
      TwReport::Indices &own = all.emplace_back();
      own.worst = output.worstIndex();
      for (const std::vector<int64_t> &index : output.firstUnwritten)
        own.unwritten.insert(own.unwritten.end(), index.begin(), index.end());
    }
  }
  return made.release();
}

TwReport *twVerify(const TwSubject *subject, const TwVerifyOptions *options, TwError **error) {
  return guarded(error, static_cast<TwReport *>(nullptr), [&]() -> TwReport * {
    std::optional<TwSubject> given = readSubject(subject, "verify", error);
    if (!given) return nullptr;
    Result<author::Report> found = verifySubject(*given, options);
    if (found) return reportOf(std::move(*found));
    setError(error, TW_ERROR_VERIFY, found.error());
    return nullptr;
  });
}

void twReportFree(TwReport *report) {
  delete report;
}
int twReportCorrect(const TwReport *report) {
  return report && report->report.isCorrect();
}
const char *twReportText(const TwReport *report) {
  return report ? report->text.c_str() : "";
}
const char *twReportJson(const TwReport *report) {
  return report ? report->json.c_str() : "";
}
size_t twReportVariantCount(const TwReport *report) {
  return report ? report->report.results.size() : 0;
}

int twReportVariant(const TwReport *report, size_t variant, TwVariant *result) {
  if (!report || !result || variant >= report->report.results.size()) return 0;
  const author::VerifyResult &found = report->report.results[variant];
  TwVariant made{sizeof(TwVariant), found.variant.c_str(), static_cast<TwOutcome>(found.outcome), found.details.c_str(),
                 found.outputs.size()};
  return writeSized(made, result);
}

int twReportOutput(const TwReport *report, size_t variant, size_t output, TwOutput *result) {
  if (!report || !result || variant >= report->indices.size() || output >= report->indices[variant].size()) return 0;
  TwOutput made{};
  const author::Output &found = report->report.results[variant].outputs[output];
  const TwReport::Indices &indices = report->indices[variant][output];
  made.name = found.name.c_str(), made.rank = found.shape.size();
  made.wrong = found.comparison.wrong;
  made.maxAbsolute = found.comparison.maxAbsolute, made.maxRelative = found.comparison.maxRelative;
  made.rtol = found.tolerances.relative, made.atol = found.tolerances.absolute;
  if (found.comparison.worst) {
    static constexpr int64_t ofScalar = 0; // an index of no numbers has an address as well
    made.worst = indices.worst.empty() ? &ofScalar : indices.worst.data();
    made.value = found.comparison.value->asDouble(), made.expected = found.comparison.expected->asDouble();
  }
  if (found.writer) {
    made.kernel = found.writer->kernel.c_str();
    for (size_t axis = 0; axis < 3; ++axis)
      made.program[axis] = found.writer->program[axis];
  }
  made.unwritten = found.unwritten;
  made.firstUnwritten = indices.unwritten.data(), made.firstUnwrittenCount = found.firstUnwritten.size();
  return writeSized(made, result);
}

} // extern "C"
