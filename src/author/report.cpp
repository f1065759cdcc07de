#include "author/report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace tilewright::author {

std::vector<int64_t> indexOf(size_t offset, llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> index(shape.size());
  auto rest = static_cast<int64_t>(offset);
  for (size_t i = shape.size(); i-- > 0; rest /= shape[i])
    index[i] = rest % shape[i];
  return index;
}

std::string listText(llvm::ArrayRef<int64_t> numbers) {
  return "[" + llvm::join(llvm::map_range(numbers, [](int64_t number) { return std::to_string(number); }), ", ") + "]";
}

std::vector<int64_t> Output::worstIndex() const {
  return comparison.worst ? indexOf(*comparison.worst, shape) : std::vector<int64_t>();
}

std::string Output::text() const {
  std::vector<std::string> parts;
  if (comparison.wrong) {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    std::string by;
    if (writer) {
      by = ", written by program (" + llvm::join(llvm::map_range(writer->program, [](int64_t at) { return std::to_string(at); }), ", ") +
           ") of " + writer->kernel;
    }
    parts.push_back(std::to_string(comparison.wrong) + " of " + std::to_string(count) + " elements are wrong; the worst is " +
                    listText(worstIndex()) + ": " + comparison.value->text() + ", and " + comparison.expected->text() + " is expected" +
                    by + (isOfManyThreads ? "; another run was right" : ""));
  }
  if (unwritten) {
    std::string indices = llvm::join(llvm::map_range(firstUnwritten, [](const auto &index) { return listText(index); }), ", ");
    bool isAll = unwritten == static_cast<int64_t>(firstUnwritten.size());
    parts.push_back(std::to_string(unwritten) + " elements are never written: " + indices + (isAll ? "" : ", ..."));
  }
  return name + ": " + llvm::join(parts, "; ");
}

const char *outcomeName(Outcome outcome) {
  switch (outcome) {
  case Outcome::right: return "right";
  case Outcome::wrong: return "wrong";
  case Outcome::refused: return "refused";
  case Outcome::skipped: return "skipped";
  }
  return "";
}

static std::string padded(llvm::StringRef text, size_t width) {
  return text.str() + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

std::string VerifyResult::text() const {
  std::string line = "  " + padded(outcomeName(outcome), 8) + " " + padded(variant, 20) + " " + llvm::join(inputs, ", ");
  llvm::SmallVector<llvm::StringRef> more;
  if (!details.empty()) llvm::StringRef(details).split(more, '\n');
  for (llvm::StringRef text : more)
    line += text.empty() ? "\n" : "\n" + std::string(11, ' ') + text.str();
  return line + "\n";
}

bool Report::isCorrect() const {
  return llvm::none_of(results, [](const VerifyResult &result) { return result.outcome == Outcome::wrong; });
}

static double maxOver(const Report &report, double Comparison::*member) {
  double found = 0;
  for (const VerifyResult &result : report.results)
    for (const Output &output : result.outputs)
      found = std::max(found, output.comparison.*member);
  return found;
}

double Report::maxAbsolute() const {
  return maxOver(*this, &Comparison::maxAbsolute);
}
double Report::maxRelative() const {
  return maxOver(*this, &Comparison::maxRelative);
}

std::string Report::details() const {
  std::vector<std::string> parts;
  for (Outcome outcome : {Outcome::right, Outcome::wrong, Outcome::refused, Outcome::skipped}) {
    auto count = llvm::count_if(results, [&](const VerifyResult &result) { return result.outcome == outcome; });
    if (count) parts.push_back(std::to_string(count) + " " + outcomeName(outcome));
  }
  std::string text = llvm::join(parts, ", ") + " of " + std::to_string(results.size()) + " variants";
  auto first = llvm::find_if(results, [](const VerifyResult &result) { return result.outcome == Outcome::wrong; });
  return first == results.end() ? text : text + "; " + first->variant + ": " + first->details;
}

std::string Report::text() const {
  std::string lines;
  for (const VerifyResult &result : results)
    lines += result.text();
  return lines + (isCorrect() ? "correct: " : "WRONG: ") + details() + "\n";
}

//===------------------------------------------------------------------------------------------------------------------- JSON

/// Replaces invalid UTF-8: names may hold any bytes, and JSON is UTF-8.
static std::string utf8(const std::string &text) {
  return llvm::json::isUTF8(text) ? text : llvm::json::fixUTF8(text);
}

static void writeOutput(llvm::json::OStream &json, const Output &output) {
  json.attribute("output", utf8(output.name));
  json.attribute("dtype", output.type);
  json.attribute("shape", llvm::json::Array(output.shape));
  writeNumber(json, "rtol", output.tolerances.relative);
  writeNumber(json, "atol", output.tolerances.absolute);
  json.attribute("wrong", output.comparison.wrong);
  writeNumber(json, "max_abs_diff", output.comparison.maxAbsolute);
  writeNumber(json, "max_rel_diff", output.comparison.maxRelative);
  if (!output.comparison.wrong) {
    json.attribute("worst", nullptr);
  } else {
    json.attributeObject("worst", [&] {
      json.attribute("index", llvm::json::Array(output.worstIndex()));
      json.attributeBegin("value");
      output.comparison.value->write(json);
      json.attributeEnd();
      json.attributeBegin("expected");
      output.comparison.expected->write(json);
      json.attributeEnd();
      json.attribute("kernel", output.writer ? llvm::json::Value(output.writer->kernel) : llvm::json::Value(nullptr));
      json.attribute("program", output.writer ? llvm::json::Value(llvm::json::Array(output.writer->program)) : llvm::json::Value(nullptr));
    });
  }
  json.attributeObject("unwritten", [&] {
    json.attribute("count", output.unwritten);
    json.attributeArray("first", [&] {
      for (const std::vector<int64_t> &index : output.firstUnwritten)
        json.value(llvm::json::Array(index));
    });
  });
}

static void writeResult(llvm::json::OStream &json, const VerifyResult &result) {
  json.attribute("variant", utf8(result.variant));
  json.attribute("kind", kindName(result.kind));
  json.attribute("outcome", outcomeName(result.outcome));
  json.attributeArray("inputs", [&] {
    for (const std::string &input : result.inputs)
      json.value(utf8(input));
  });
  json.attribute("details", utf8(result.details));
  json.attributeArray("outputs", [&] {
    for (const Output &output : result.outputs)
      json.object([&] { writeOutput(json, output); });
  });
}

std::string Report::json() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  json.object([&] {
    json.attribute("correct", isCorrect());
    writeNumber(json, "max_abs_diff", maxAbsolute());
    writeNumber(json, "max_rel_diff", maxRelative());
    json.attribute("details", utf8(details()));
    json.attributeArray("variants", [&] {
      for (const VerifyResult &result : results)
        json.object([&] { writeResult(json, result); });
    });
  });
  return text;
}

} // namespace tilewright::author
