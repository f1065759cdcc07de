// `tilewright completion bash`: a script for the shell, which runs the command to list the possible next words.

#include "cli/command.h"

#include "llvm/ADT/StringRef.h"

#include <cstdio>

namespace tilewright {

static constexpr struct {
  const char *shell, *script;
} scripts[] = {
    {"bash", R"sh(_tilewright() {
  local current=${COMP_WORDS[COMP_CWORD]}
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "$(tilewright completion words)" -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$(tilewright completion words "${COMP_WORDS[1]}")" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _tilewright tilewright
)sh"},
    {"zsh", R"sh(#compdef tilewright
_tilewright() {
  if ((CURRENT == 2)); then
    compadd -- ${(f)"$(tilewright completion words)"}
  elif [[ $PREFIX == -* ]]; then
    compadd -- ${(f)"$(tilewright completion words $words[2])"}
  else
    _files
  fi
}
compdef _tilewright tilewright
)sh"},
    {"fish", R"sh(complete -c tilewright -n __fish_use_subcommand -f -a '(tilewright completion words)'
complete -c tilewright -n 'not __fish_use_subcommand' -a '(tilewright completion words (commandline -opc)[2])'
)sh"},
};

const CommandSpec &completionSpec() {
  static const CommandSpec spec{"completion",
                                "bash | zsh | fish",
                                "Prints a script that makes a shell complete commands and options.",
                                "  source <(tilewright completion bash)           in ~/.bashrc; for zsh in ~/.zshrc, after compinit\n"
                                "  tilewright completion fish | source            in ~/.config/fish/config.fish\n"
                                "'tilewright completion words [COMMAND]' prints the commands, or the options of one.\n",
                                {}};
  return spec;
}

static int printWords(const std::vector<std::string> &words) {
  for (const Command &command : allCommands()) {
    if (words.size() == 1) std::printf("%s\n", command.name);
    if (words.size() == 1 || words[1] != command.name || !command.spec) continue;
    for (const OptionSpec &option : command.spec().options)
      std::printf("%s\n", option.name);
    std::printf("--help\n");
  }
  return success;
}

int completionMain(int argc, char **argv) {
  int status = 0;
  std::optional<CommandLine> line = readCommandLine(completionSpec(), argc, argv, status);
  if (!line) return status;
  if (line->words.empty()) return fail("completion expects one of bash, zsh, fish");
  if (line->words.front() == "words") return printWords(line->words);
  for (const auto &[shell, script] : scripts) {
    if (line->words.front() != shell) continue;
    std::fputs(script, stdout);
    return success;
  }
  return fail("completion expects bash, zsh or fish, got '" + line->words.front() + "'");
}

} // namespace tilewright
