#include "support/work_control.h"

#include <cstdio>
#include <unistd.h>

namespace tilewright {

static thread_local const WorkControl *current = nullptr;

const WorkControl *currentControl() {
  return current;
}

ControlScope::ControlScope(const WorkControl *control) : before(current) {
  if (control) current = control;
}
ControlScope::~ControlScope() {
  current = before;
}

void WorkControl::end(Ended why) const {
  Ended none = Ended::no; // the first reason stays
  reason.compare_exchange_strong(none, why, std::memory_order_relaxed);
}

bool WorkControl::mayContinue() const {
  for (const std::atomic<bool> *cancel : cancels)
    if (cancel && cancel->load(std::memory_order_relaxed)) end(Ended::canceled);
  if (deadline && Clock::now() >= *deadline) end(Ended::deadline);
  return ended() != Ended::canceled && ended() != Ended::deadline;
}

std::string WorkControl::describe() const {
  switch (ended()) {
  case Ended::no: return "it goes on";
  case Ended::canceled: return "it was canceled";
  case Ended::deadline: return "its time is over";
  case Ended::limit: return "it exceeds a limit";
  }
  return "";
}

int64_t residentBytes() {
  std::FILE *file = std::fopen("/proc/self/statm", "re");
  if (!file) return 0;
  long total = 0, resident = 0;
  int read = std::fscanf(file, "%ld %ld", &total, &resident);
  std::fclose(file);
  return read == 2 ? static_cast<int64_t>(resident) * ::sysconf(_SC_PAGESIZE) : 0;
}

} // namespace tilewright
