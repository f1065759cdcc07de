// PTX -> cubin by NVIDIA's assembler, a separate program: it reads a file, writes a file, and says what the kernel costs:
//     ptxas info    : 0 bytes gmem
//     ptxas info    : Compiling entry function 'add' for 'sm_NN'
//         0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//     ptxas info    : Used 24 registers, used 1 barriers, 1024 bytes smem, 540 bytes cmem[0]
// Where it is not installed, the driver assembles the same text when the kernel is loaded.
#include "codegen/ptx/text.h"

#include "codegen/debug_info.h"
#include "support/settings.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char **environ;

namespace tilewright {

static bool isProgram(const std::string &path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string findPtxas() {
  if (const char *named = std::getenv("TILEWRIGHT_PTXAS"); named && *named) return isProgram(named) ? named : "";
  const char *path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    // An empty part, such as that of "PATH=:/bin", means the present folder to a shell: whatever lies there is not run.
    std::string file = folder + "/ptxas";
    if (!folder.empty() && isProgram(file)) return file;
  }
  return "";
}

static void addWords(std::vector<std::string> &words, const std::string &text) {
  std::istringstream rest(text);
  for (std::string word; rest >> word;)
    words.push_back(word);
}

/// The words for ptxas that upstream's settings of the environment add.
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

namespace {

/// A folder that is removed with its contents.
class Workplace {
public:
  Workplace() {
    const char *parent = std::getenv("TMPDIR");
    folder = std::string(parent && *parent ? parent : "/tmp") + "/tilewright-XXXXXX";
    if (!::mkdtemp(folder.data())) folder.clear();
  }
  ~Workplace() {
    if (folder.empty()) return;
    for (const char *name : {"kernel.ptx", "kernel.cubin", "log"})
      ::unlink(file(name).c_str());
    ::rmdir(folder.c_str());
  }
  Workplace(const Workplace &) = delete;
  Workplace &operator=(const Workplace &) = delete;
  bool ok() const { return !folder.empty(); }
  std::string file(const char *name) const { return folder + "/" + name; }

private:
  std::string folder;
};

} // namespace

static std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Runs a program with its output in `log`; its exit status, or -1 with the reason in `error`.
static int runProgram(std::vector<std::string> words, const std::string &log, std::string &error) {
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  int failure = ::posix_spawn(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure) {
    error = "cannot run " + words.front() + ": " + std::strerror(failure);
    return -1;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) {
      error = std::string("lost ptxas: ") + std::strerror(errno);
      return -1;
    }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// The largest number N of all "BEFORE<N>AFTER" in the log.
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

/// The cubin of `ptx`, assembled in `place`.
static std::optional<Cubin> runPtxas(const std::string &program, const Workplace &place, const std::string &ptx, const GpuTarget &target,
                                     const std::string &options, std::string &error) {
  for (const char *name : {"kernel.cubin", "log"})
    ::unlink(place.file(name).c_str());
  std::ofstream source(place.file("kernel.ptx"), std::ios::binary);
  source << ptx;
  source.close();
  if (!source) {
    error = "cannot write a temporary file for ptxas";
    return std::nullopt;
  }
  std::vector<std::string> words = {program, "-v", "-arch=" + target.name, place.file("kernel.ptx"), "-o", place.file("kernel.cubin")};
  if (debugInfoIsOn()) words.push_back("-lineinfo");
  for (std::string &word : wordsOfSettings())
    words.push_back(std::move(word));
  addWords(words, options);
  int status = runProgram(std::move(words), place.file("log"), error);
  if (status < 0) return std::nullopt;
  Cubin cubin;
  cubin.log = readFile(place.file("log"));
  if (status == 0) cubin.bytes = readFile(place.file("kernel.cubin"));
  if (cubin.bytes.empty()) {
    error = "ptxas refuses the code (status " + std::to_string(status) + "): " + cubin.log;
    return std::nullopt;
  }
  if (!std::string_view(cubin.bytes)
           .starts_with("\x7f"
                        "ELF")) {
    error = program + " writes something else than a cubin";
    return std::nullopt;
  }
  cubin.registers = largest(cubin.log, "Used ", " registers");
  cubin.spillBytes = largest(cubin.log, "", " bytes spill stores");
  cubin.localBytes = largest(cubin.log, "", " bytes stack frame");
  cubin.sharedBytes = largest(cubin.log, "", " bytes smem");
  return cubin;
}

/// Whether slightly fewer registers a thread would let two blocks run on a multiprocessor instead of one. One block's loads then
/// run while the other waits at a barrier or a lock (layer norm backward, rows of 8192: 134 registers 1257 GB/s, 128 registers
/// 1583 on an H100). Products fill the machine with one block, and a kernel that sets its own number of registers gets that.
static bool nearlyTwoBlocks(std::string_view ptx, int64_t registers) {
  constexpr int64_t all = 65536;
  for (std::string_view word : {"mma", ".maxnreg", ".minnctapersm"})
    if (ptx.find(word) != std::string_view::npos) return false;
  int64_t threads = largest(ptx, ".reqntid ", "\n");
  if (threads < 32) return false;
  int64_t two = all / (2 * threads) / 8 * 8;
  return (registers + 7) / 8 * 8 > two && registers * 7 / 8 <= two;
}

std::optional<Cubin> assemblePtx(const std::string &ptx, const GpuTarget &target, const std::string &options, std::string &error) {
  std::string program = findPtxas();
  if (program.empty()) {
    error = "there is no ptxas on PATH (TILEWRIGHT_PTXAS can name one)";
    return std::nullopt;
  }
  Workplace place;
  if (!place.ok()) {
    error = "cannot write a temporary file for ptxas";
    return std::nullopt;
  }
  std::optional<Cubin> cubin = runPtxas(program, place, ptx, target, options, error);
  if (cubin && nearlyTwoBlocks(ptx, cubin->registers)) {
    std::string two = ptx, refused;
    two.insert(two.find('\n', two.find(".reqntid ")), "\n.minnctapersm 2");
    std::optional<Cubin> smaller = runPtxas(program, place, two, target, options, refused);
    if (smaller && smaller->spillBytes == 0 && smaller->localBytes <= cubin->localBytes) return smaller;
  }
  return cubin;
}

} // namespace tilewright
