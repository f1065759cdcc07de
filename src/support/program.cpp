#include "support/program.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace tilewright {

bool isProgram(const std::string &path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string findProgram(const std::string &name) {
  if (name.find('/') != std::string::npos) return isProgram(name) ? name : "";
  const char *path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    // An empty part, such as that of "PATH=:/bin", means the current folder to a shell. Programs there are not run.
    std::string file = folder + "/" + name;
    if (!folder.empty() && isProgram(file)) return file;
  }
  return "";
}

void addWords(std::vector<std::string> &words, const std::string &text) {
  std::istringstream rest(text);
  for (std::string word; rest >> word;)
    words.push_back(word);
}

Result<int> runProgram(std::vector<std::string> words, const std::string &log) {
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
  if (failure) return Failure{"cannot run " + words.front() + ": " + std::strerror(failure)};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return Failure{"lost " + words.front() + ": " + std::strerror(errno)};
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace tilewright
