#include "ir/explanation.h"

#include "ir/address/indices.h"
#include "support/files.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <set>

using namespace mlir;

namespace tilewright {

SourceLine sourceLineOf(Location location, StringRef kernelFile) {
  SourceLine found;
  location->walk([&](Location part) {
    auto fileLoc = dyn_cast<FileLineColLoc>(part);
    if (!fileLoc) return WalkResult::advance();
    bool own = fileLoc.getFilename().getValue() == kernelFile;
    if (own || found.file.empty()) found = {fileLoc.getFilename().str(), int64_t(fileLoc.getLine())};
    return own ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

std::string sourceFileOf(Operation *function) {
  auto found = function->getLoc()->findInstanceOf<FileLineColLoc>();
  return found ? found.getFilename().str() : std::string();
}

//===----------------------------------------------------------------------------------------------------------- parts of sentences

std::string tileText(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Type element = type;
  if (auto tile = dyn_cast<RankedTensorType>(type)) {
    element = tile.getElementType();
    if (tile.getRank() == 0) stream << "one element";
    llvm::interleave(tile.getShape(), stream, "x");
    stream << " ";
  }
  if (auto pointer = dyn_cast<tt::PointerType>(element))
    stream << "pointers to " << pointer.getPointeeType();
  else
    stream << element;
  return text;
}

std::string secondsText(double seconds) {
  auto [factor, unit, form] = seconds < 1e-3 ? std::tuple(1e6, "us", "{0:f2} {1}")
                              : seconds < 1  ? std::tuple(1e3, "ms", "{0:f3} {1}")
                                             : std::tuple(1.0, "s", "{0:f3} {1}");
  return llvm::formatv(form, seconds * factor, unit).str();
}

std::string scaledText(double number, StringRef unit) {
  StringRef prefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t i = 0;
  for (; number >= 999.5 && i + 1 < std::size(prefixes); ++i)
    number /= 1000;
  const char *form = number >= 99.95 || (i == 0 && number == std::floor(number)) ? "{0:f0} {1}{2}"
                     : number >= 9.995                                           ? "{0:f1} {1}{2}"
                                                                                 : "{0:f2} {1}{2}";
  return llvm::formatv(form, number, prefixes[i], unit).str();
}

std::string countText(int64_t number, StringRef one, StringRef several) {
  return std::to_string(number) + " " + (number == 1 ? one : several).str();
}

std::string countText(int64_t number, StringRef one) {
  return countText(number, one, one.str() + "s");
}

std::string stepsText(Operation *function, Value pointer) {
  auto tile = dyn_cast<RankedTensorType>(pointer.getType());
  if (!tile) return "";
  address::FailedGuards failedGuards; // none
  address::Indices indices(cast<tt::FuncOp>(function), failedGuards, gridLimits);
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, tile.getRank()));
  Result<address::Indices::Pointer> found = indices.pointer(pointer, dims);
  if (!found) return "";
  std::vector<std::string> parts;
  for (int64_t dim : dims) {
    if (tile.getShape()[static_cast<size_t>(dim)] == 1) continue;
    address::Polynomial step = found->offset.along(dim);
    if (step.isZero()) return ""; // independent of that coordinate
    parts.push_back("along dimension " + std::to_string(dim) + (parts.empty() ? " moves" : "") + " by " + indices.text(step) +
                    (parts.empty() ? " elements" : ""));
  }
  return parts.empty() ? "" : "a step " + llvm::join(parts, ", ");
}

std::string paragraph(StringRef text, size_t indent) {
  std::string result, line(indent, ' ');
  bool fresh = true;
  for (StringRef word : llvm::split(text, ' ')) {
    if (!fresh && line.size() + 1 + word.size() > explanationWidth) {
      result += line + "\n";
      line.assign(indent + 2, ' ');
      fresh = true;
    }
    line += (fresh ? "" : " ") + word.str();
    fresh = false;
  }
  return result + line + "\n";
}

StringRef SourceText::code(const SourceLine &where) {
  auto [at, isNew] = files.try_emplace(where.file);
  if (isNew)
    if (Result<std::string> text = readFile(where.file)) at->second = std::move(*text);
  StringRef rest = at->second, line;
  for (int64_t i = 0; i < where.line; ++i)
    std::tie(line, rest) = rest.split('\n');
  return line;
}

std::string SourceText::titled(const SourceLine &where) {
  if (where.file.empty()) return "(no line)";
  std::string text = StringRef(where.file).rsplit('/').second.str();
  if (text.empty()) text = where.file;
  text += ":" + std::to_string(where.line);
  StringRef line = code(where).trim();
  if (line.empty()) return text;
  text += "  ";
  size_t left = explanationWidth - 2 - text.size();
  return text + (line.size() > left ? line.take_front(left - 3).str() + "..." : line.str());
}

//===---------------------------------------------------------------------------------------------------------------------- as text

/// Lists the assumptions, or the versioning requests, under a heading; "" if there are none. Only counts conditions with long formulas.
static std::string launchGuardsText(StringRef heading, ArrayRef<LaunchGuard> guards, bool versioningRequests) {
  constexpr size_t longest = 90;
  std::string text;
  int64_t longer = 0;
  for (const LaunchGuard &guard : guards) {
    if (guard.isVersioningRequest != versioningRequests) continue;
    if (guard.name.size() > longest)
      ++longer;
    else
      text += "  " + guard.name + "\n";
  }
  if (longer) text += "  " + countText(longer, "longer condition") + " on sizes and strides, which --json lists\n";
  return text.empty() ? text : "\n" + heading.str() + "\n" + text;
}

static std::string sectionText(const RemarkSection &section, SourceText &source) {
  if (section.remarks.empty()) return "";
  std::string text = "\n" + section.title + "\n";
  SourceLine before;
  for (const Remark &remark : section.remarks) {
    if (remark.where != before) text += "  " + source.titled(remark.where) + "\n";
    before = remark.where;
    text += paragraph(remark.text, 6);
  }
  return text;
}

/// Returns what the prediction says of the busiest units.
static std::string predictionText(const LaunchTime &time) {
  if (time.busy.empty()) {
    std::string roughly = ", roughly: the model ignores dependences within a program";
    return time.isComplete ? roughly : roughly + "; that of an SM has met a wait that it cannot resolve";
  }
  constexpr size_t shown = 3;
  std::string fraction = std::to_string(std::lround(100 * std::max(time.memory, time.arithmetic) / time.predicted));
  std::string text = ", not measured; " + fraction + " % of the peak. Busy in the model: ";
  for (auto [index, unit] : llvm::enumerate(llvm::ArrayRef(time.busy).take_front(shown)))
    text += (index ? ", " : "") + unit.first + " " + std::to_string(std::lround(100 * std::min(unit.second, 1.0))) + " %";
  return time.knowsRegisters ? text : text + "; without ptxas, registers are unknown and limit nothing";
}

/// Returns the bound, the estimate and the measured time, one line each.
static std::vector<std::string> timeLines(const LaunchTime &time) {
  std::vector<std::string> lines;
  std::string program = scaledText(time.programBytes, "B") + " loaded and stored, " + scaledText(time.programOperations, "FLOP");
  if (time.programBytes > 0) program += llvm::formatv(", {0:f2} a byte", time.programOperations / time.programBytes).str();
  lines.push_back("a program       " + program + (time.isExact ? "" : "; loops of unknown length count as one iteration"));
  if (!time.programs) return lines;
  lines.push_back("a launch        " + countText(time.programs, "program") + "; " + time.machine + ": " +
                  scaledText(time.bytesPerSecond, "B/s") + ", " + scaledText(time.operationsPerSecond, "FLOP/s"));
  double bound = std::max(time.memory, time.arithmetic);
  std::string moved =
      time.tensorBytes > 0 ? scaledText(time.tensorBytes, "B") + " of tensors, each counted once" : "if no two programs load the same data";
  lines.push_back("bound           " + secondsText(bound) + ", by " + (time.memory >= time.arithmetic ? "memory" : "arithmetic") +
                  ": memory " + secondsText(time.memory) + " (" + moved + "), arithmetic " + secondsText(time.arithmetic));
  lines.push_back("predicted       " + secondsText(time.predicted) + predictionText(time));
  if (time.measured.size() == 3)
    lines.push_back("measured        " + secondsText(time.measured[0]) + " (20 % " + secondsText(time.measured[1]) + ", 80 % " +
                    secondsText(time.measured[2]) + "): " + std::to_string(std::lround(100 * bound / time.measured[0])) + "% of the bound");
  return lines;
}

std::string explanationText(const Explanation &explanation) {
  SourceText source;
  std::string text = explanation.heading + "\n";
  for (const std::string &resource : explanation.resources)
    text += "  " + resource + "\n";
  if (explanation.time) {
    text += "\nTime\n";
    for (const std::string &line : timeLines(*explanation.time))
      text += paragraph(line, 2);
  }
  for (const RemarkSection &section : explanation.sections)
    text += sectionText(section, source);
  text += launchGuardsText("Assumed, and checked at every launch", explanation.guards, false);
  text += launchGuardsText("Launches that fail these guards get a faster version", explanation.guards, true);
  if (!explanation.layouts.empty()) text += "\nLayouts: what each thread holds, in the order of the program\n";
  for (const LayoutPicture &layout : explanation.layouts)
    text += layout.text;
  return text;
}

//===---------------------------------------------------------------------------------------------------------------------- as JSON

static llvm::json::Object placed(const SourceLine &where) {
  if (where.file.empty()) return {};
  return llvm::json::Object{{"file", where.file}, {"line", where.line}};
}

static llvm::json::Array remarksJson(ArrayRef<Remark> remarks) {
  llvm::json::Array array;
  for (const Remark &remark : remarks) {
    llvm::json::Object object = placed(remark.where);
    object["text"] = remark.text;
    array.push_back(std::move(object));
  }
  return array;
}

static llvm::json::Object layoutJson(const LayoutPicture &layout) {
  llvm::json::Array owners;
  for (const LayoutPicture::Owner &owner : layout.owners)
    owners.push_back(llvm::json::Array{owner.warp, owner.lane, owner.element});
  return llvm::json::Object{{"name", layout.name},
                            {"text", StringRef(layout.text).trim()},
                            {"lines", llvm::json::Array(layout.lines)},
                            {"rows", layout.rows},
                            {"columns", layout.columns},
                            {"owners", std::move(owners)}};
}

static llvm::json::Object timelineJson(const Timeline &timeline) {
  llvm::json::Array events;
  for (const TimelineEvent &event : timeline.events) {
    llvm::json::Object object = placed(event.where);
    object["worker"] = event.worker;
    object["what"] = event.what;
    object["prefetch_distance"] = event.prefetchDistance;
    events.push_back(std::move(object));
  }
  llvm::json::Object object = placed(timeline.loop);
  object["stages"] = timeline.stages;
  object["events"] = std::move(events);
  return object;
}

static llvm::json::Object timeJson(const LaunchTime &time) {
  llvm::json::Object object{{"text", llvm::json::Array(timeLines(time))},
                            {"program_bytes", time.programBytes},
                            {"program_operations", time.programOperations},
                            {"exact", time.isExact}};
  if (!time.programs) return object;
  object["programs"] = time.programs;
  object["machine"] = time.machine;
  object["bytes_per_second"] = time.bytesPerSecond;
  object["operations_per_second"] = time.operationsPerSecond;
  object["memory_seconds"] = time.memory;
  object["arithmetic_seconds"] = time.arithmetic;
  object["bound_seconds"] = std::max(time.memory, time.arithmetic);
  object["predicted_seconds"] = time.predicted;
  llvm::json::Object busy;
  for (const auto &[unit, fraction] : time.busy)
    busy[unit] = fraction;
  if (!busy.empty()) object["predicted_busy"] = std::move(busy);
  object["predicted_complete"] = time.isComplete;
  if (!time.measured.empty()) object["measured_seconds"] = time.measured.front();
  return object;
}

void dropRepeated(Explanation &explanation) {
  std::set<std::string> seenGuards;
  llvm::erase_if(explanation.guards, [&](const LaunchGuard &guard) { return !seenGuards.insert(guard.name).second; });
  for (RemarkSection &section : explanation.sections) {
    std::set<std::pair<SourceLine, std::string>> seen;
    llvm::erase_if(section.remarks, [&](const Remark &remark) { return !seen.insert({remark.where, remark.text}).second; });
  }
}

llvm::json::Object explanationJson(const Explanation &explanation) {
  llvm::json::Array guards, sections, layouts, timelines;
  for (const LaunchGuard &guard : explanation.guards)
    guards.push_back(llvm::json::Object{{"text", guard.name}, {"versioning_request", guard.isVersioningRequest}});
  for (const RemarkSection &section : explanation.sections)
    if (!section.remarks.empty())
      sections.push_back(llvm::json::Object{{"title", section.title}, {"remarks", remarksJson(section.remarks)}});
  for (const LayoutPicture &layout : explanation.layouts)
    layouts.push_back(layoutJson(layout));
  for (const Timeline &timeline : explanation.timelines)
    timelines.push_back(timelineJson(timeline));
  llvm::json::Object time = explanation.time ? timeJson(*explanation.time) : llvm::json::Object();
  return llvm::json::Object{{"kernel", explanation.kernel},
                            {"target", explanation.target},
                            {"file", explanation.file},
                            {"heading", explanation.heading},
                            {"resources", llvm::json::Array(explanation.resources)},
                            {"time", std::move(time)},
                            {"launch_guards", std::move(guards)},
                            {"sections", std::move(sections)},
                            {"layouts", std::move(layouts)},
                            {"timelines", std::move(timelines)}};
}

} // namespace tilewright
