#include "ir/interpret/history.h"

#include <algorithm>

namespace tilewright {

constexpr uint64_t pageBytes = 4096;

uint32_t AccessHistory::timeOf(uint32_t program) const {
  auto found = times.find(program);
  return found == times.end() ? 1 : found->second;
}

bool AccessHistory::isOrdered(uint32_t program, const Seen &earlier) const {
  if (earlier.time == 0 || earlier.program == program) return true;
  auto clock = known.find(program);
  if (clock == known.end()) return false;
  auto time = clock->second->find(earlier.program);
  return time != clock->second->end() && time->second >= earlier.time;
}

AccessHistory::Page &AccessHistory::pageFor(uint64_t address, int64_t bytes) {
  std::unique_ptr<Page> &page = pages[address / pageBytes];
  int64_t wanted = 8;
  while (address % uint64_t(wanted) || bytes % wanted)
    wanted /= 2;
  if (!page) {
    page = std::make_unique<Page>();
    page->cellBytes = wanted;
    page->cells.resize(pageBytes / uint64_t(wanted));
  } else if (page->cellBytes > wanted) { // each cell becomes several that remember the same
    int64_t parts = page->cellBytes / wanted;
    std::vector<Cell> cells;
    cells.reserve(page->cells.size() * size_t(parts));
    for (const Cell &cell : page->cells)
      cells.insert(cells.end(), size_t(parts), cell);
    page->cells = std::move(cells);
    page->cellBytes = wanted;
  }
  return *page;
}

// Two readers are enough to find the one that a store forgets: if the program that stores is one of them, the other is left.
void AccessHistory::noteRead(Cell &cell, uint32_t program, const Seen &seen) {
  for (Seen &read : cell.reads)
    if (read.time == 0 || read.program == program) {
      read = seen;
      return;
    }
  Seen &replaced = isOrdered(program, cell.reads[0]) ? cell.reads[0] : cell.reads[1];
  replaced = seen;
}

std::optional<AccessHistory::Clash> AccessHistory::note(uint32_t program, const Access &access) {
  Seen seen{program, timeOf(program), access.where, access.atomic};
  std::optional<Clash> clash;
  auto compare = [&](const Seen &earlier, bool wrote) {
    if (!clash && !(earlier.atomic && access.atomic) && !isOrdered(program, earlier))
      clash = Clash{earlier.program, earlier.where, wrote, bool(earlier.atomic), false};
  };
  for (uint64_t at = access.address, end = access.address + uint64_t(access.bytes); at < end;) {
    Page &page = pageFor(at, int64_t(std::min(end, (at / pageBytes + 1) * pageBytes) - at));
    uint64_t pageEnd = std::min(end, (at / pageBytes + 1) * pageBytes);
    for (; at < pageEnd; at += uint64_t(page.cellBytes)) {
      Cell &cell = page.cells[at % pageBytes / uint64_t(page.cellBytes)];
      compare(cell.write, true);
      if (!access.writes) {
        noteRead(cell, program, seen);
        continue;
      }
      for (const Seen &read : cell.reads)
        compare(read, false);
      bool again = !access.atomic && cell.write.program == program && cell.turn == access.turn && cell.write.time != 0;
      if (!clash && again) clash = Clash{program, access.where, true, false, true};
      cell.write = seen;
      cell.turn = access.turn;
      cell.reads[0] = cell.reads[1] = Seen();
    }
  }
  return clash;
}

void AccessHistory::acquire(uint32_t program, uint64_t address) {
  auto found = released.find(address);
  if (found == released.end()) return;
  std::unique_ptr<Clock> &clock = known[program];
  if (!clock) clock = std::make_unique<Clock>();
  for (auto [other, time] : *found->second) {
    uint32_t &soFar = (*clock)[other];
    soFar = std::max(soFar, time);
  }
}

void AccessHistory::release(uint32_t program, uint64_t address) {
  std::unique_ptr<Clock> &clock = released[address];
  if (!clock) clock = std::make_unique<Clock>();
  auto learn = [&](uint32_t other, uint32_t time) {
    uint32_t &soFar = (*clock)[other];
    soFar = std::max(soFar, time);
  };
  if (auto found = known.find(program); found != known.end())
    for (auto [other, time] : *found->second)
      learn(other, time);
  uint32_t now = timeOf(program);
  learn(program, now);
  times[program] = now + 1;
}

} // namespace tilewright
