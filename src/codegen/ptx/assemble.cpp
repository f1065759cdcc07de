// PTX -> cubin by NVIDIA's assembler, a separate program. It reads a file, writes a file, and reports the resources of the kernel:
//     ptxas info    : 0 bytes gmem
//     ptxas info    : Compiling entry function 'add' for 'sm_NN'
//         0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//     ptxas info    : Used 24 registers, used 1 barriers, 1024 bytes smem, 540 bytes cmem[0]
// If ptxas is not installed, the driver assembles the same text when the kernel is loaded.
#include "codegen/ptx/text.h"

#include "codegen/debug_info.h"
#include "support/program.h"
#include "support/settings.h"
#include "support/temporary_folder.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace tilewright {

std::string findPtxas() {
  if (const char *named = std::getenv("TILEWRIGHT_PTXAS"); named && *named) return isProgram(named) ? named : "";
  return findProgram("ptxas");
}

/// The ptxas options that upstream's environment variables add.
static std::vector<std::string> wordsOfSettings() {
  std::vector<std::string> words;
  if (isSwitchedOn("DISABLE_PTXAS_OPT", false)) words = {"--opt-level", "0"};
  if (const char *more = std::getenv("PTXAS_OPTIONS")) addWords(words, more);
  return words;
}

std::string assemblerIdentity() {
  std::string path = findPtxas();
  struct stat status{};
  if (path.empty() || ::stat(path.c_str(), &status) != 0) return "driver";
  path += " " + std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
  for (const std::string &word : wordsOfSettings())
    path += " " + word;
  return path;
}

static std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Returns the largest number N of all "BEFORE<N>AFTER" in the log.
static int64_t largest(std::string_view log, std::string_view before, std::string_view after) {
  int64_t result = 0;
  for (size_t end = log.find(after); end != std::string_view::npos; end = log.find(after, end + 1)) {
    size_t begin = end;
    while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9')
      --begin;
    if (begin == end || log.substr(0, begin).substr(std::max(begin, before.size()) - before.size()) != before) continue;
    result = std::max<int64_t>(result, std::strtoll(std::string(log.substr(begin, end - begin)).c_str(), nullptr, 10));
  }
  return result;
}

/// Returns the cubin of `ptx`, assembled in `folder`. Sets `problem` after an error.
static std::optional<Cubin> runPtxas(const std::string &program, const TemporaryFolder &folder, const std::string &ptx,
                                     const GpuTarget &target, const std::string &options, AssemblerProblem &problem) {
  auto fails = [&](bool isOfSystem, std::string text) {
    problem = {isOfSystem, std::move(text)};
    return std::nullopt;
  };
  Result<void> written = folder.made() ? folder.write("kernel.ptx", ptx) : folder.made();
  if (written) written = folder.write("log", "");
  if (!written) return fails(true, written.error());
  std::vector<std::string> words = {program, "-v", "-arch=" + target.name, folder.file("kernel.ptx"), "-o", folder.file("kernel.cubin")};
  if (debugInfoIsOn()) words.push_back("-lineinfo");
  for (std::string &word : wordsOfSettings())
    words.push_back(std::move(word));
  addWords(words, options);
  Result<int> status = runProgram(std::move(words), folder.file("log"));
  if (!status) return fails(true, status.error());
  Cubin cubin;
  cubin.log = readFile(folder.file("log"));
  if (*status == 0) cubin.bytes = readFile(folder.file("kernel.cubin"));
  bool isElf = std::string_view(cubin.bytes)
                   .starts_with("\x7f"
                                "ELF");
  if (!isElf || *status != 0) {
    // ptxas does not name the reason if it cannot write its output.
    if (Result<void> room = folder.hasRoom(size_t(1) << 20); !room) return fails(true, room.error());
    if (cubin.bytes.empty()) return fails(false, "ptxas failed (status " + std::to_string(*status) + "): " + cubin.log);
    return fails(false, program + " did not write a cubin");
  }
  cubin.registers = largest(cubin.log, "Used ", " registers");
  cubin.spillBytes = largest(cubin.log, "", " bytes spill stores");
  cubin.localBytes = largest(cubin.log, "", " bytes stack frame");
  cubin.sharedBytes = largest(cubin.log, "", " bytes smem");
  return cubin;
}

std::optional<Cubin> assemblePtx(const std::string &ptx, const GpuTarget &target, const std::string &options, AssemblerProblem &problem) {
  std::string program = findPtxas();
  if (program.empty()) {
    problem = {true, "ptxas was not found on PATH; set TILEWRIGHT_PTXAS to its path"};
    return std::nullopt;
  }
  TemporaryFolder folder;
  return runPtxas(program, folder, ptx, target, options, problem);
}

std::string minCtasOption(int64_t ctas) {
  return " -minnctapersm=" + std::to_string(ctas);
}

} // namespace tilewright
