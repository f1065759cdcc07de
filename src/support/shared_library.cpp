#include "support/shared_library.h"

#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright {

#if defined(__aarch64__)
static constexpr Elf64_Half thisMachine = EM_AARCH64;
static constexpr const char *thisMachineName = "AArch64";
#else
static constexpr Elf64_Half thisMachine = EM_X86_64;
static constexpr const char *thisMachineName = "x86-64";
#endif

static constexpr size_t headBytes = 1 << 16; // far more than linkers write before the first segment

Result<void> checkSharedLibrary(std::string_view head, uint64_t fileBytes) {
  Elf64_Ehdr header;
  if (head.size() < sizeof header || head.substr(0, SELFMAG) != ELFMAG) return Failure{"it is not a shared library"};
  std::memcpy(&header, head.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != thisMachine)
    return Failure{"it is for another machine: its ELF machine is " + std::to_string(header.e_machine) + ", and this is " +
                   thisMachineName};
  if (header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr)) return Failure{"it is not a shared library"};
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    uint64_t offset = header.e_phoff + i * sizeof segment;
    if (header.e_phoff > head.size() || offset + sizeof segment > head.size()) return Failure{"it is truncated"};
    std::memcpy(&segment, head.data() + offset, sizeof segment);
    if (segment.p_offset > fileBytes || segment.p_filesz > fileBytes - segment.p_offset) return Failure{"it is truncated"};
  }
  return {};
}

Result<void> checkSharedLibraryFile(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe is not waited for
  if (fd < 0) return Failure{std::strerror(errno)};
  struct stat status{};
  std::string head(headBytes, '\0');
  bool isRegular = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  ssize_t count = isRegular ? ::pread(fd, head.data(), head.size(), 0) : 0;
  ::close(fd);
  if (!isRegular) return Failure{"it is not a regular file"};
  if (count < 0) return Failure{"it cannot be read"};
  head.resize(static_cast<size_t>(count));
  return checkSharedLibrary(head, static_cast<uint64_t>(status.st_size));
}

} // namespace tilewright
