#include "ir/interpret/history.h"

#include "llvm/ADT/bit.h"

#include <algorithm>

namespace tilewright {

constexpr uint64_t pageBytes = 4096;

uint32_t AccessHistory::timeOf(uint32_t program) const {
  auto found = times.find(program);
  return found == times.end() ? 1 : found->second;
}

bool AccessHistory::isKnown(uint32_t program, uint32_t earlier, uint32_t time) const {
  auto clock = known.find(program);
  if (clock == known.end()) return false;
  auto found = clock->second->find(earlier);
  return found != clock->second->end() && found->second >= time;
}

AccessHistory::Page &AccessHistory::pageFor(uint64_t address, int64_t bytes) {
  constexpr uint64_t widest = 16; // the maximum size of one access of a thread
  int64_t wanted = int64_t(1) << llvm::countr_zero(address | uint64_t(bytes) | widest);
  if (lastNumber == address / pageBytes && lastPage->cellBytes <= wanted) return *lastPage;
  std::unique_ptr<Page> &page = pages[address / pageBytes];
  lastNumber = address / pageBytes;
  if (!page) {
    page = std::make_unique<Page>();
    page->cellBytes = wanted;
    page->cells.resize(pageBytes / uint64_t(wanted));
  } else if (page->cellBytes > wanted) { // split each cell into several with the same history
    int64_t parts = page->cellBytes / wanted;
    std::vector<Cell> cells;
    cells.reserve(page->cells.size() * size_t(parts));
    for (const Cell &cell : page->cells)
      cells.insert(cells.end(), size_t(parts), cell);
    page->cells = std::move(cells);
    page->cellBytes = wanted;
  }
  lastPage = page.get();
  return *page;
}

std::optional<AccessHistory::Clash> AccessHistory::note(uint32_t program, const Access &access) {
  auto isBefore = [&](uint32_t earlier, uint32_t time) { return isKnown(program, earlier, time); };
  return note(program, timeOf(program), access, isBefore, /*keepsAllReaders=*/false);
}

std::optional<AccessHistory::Clash> AccessHistory::note(uint32_t agent, uint32_t now, const Access &access, Order isBefore) {
  return note(agent, now, access, isBefore, /*keepsAllReaders=*/true);
}

std::optional<AccessHistory::Clash> AccessHistory::note(uint32_t agent, uint32_t now, const Access &access, Order isBefore,
                                                        bool keepsAllReaders) {
  Seen seen{agent, now, access.where, access.atomic};
  auto isOrdered = [&](const Seen &earlier) {
    return earlier.time == 0 || earlier.program == agent || isBefore(earlier.program, earlier.time);
  };
  std::optional<Clash> clash;
  auto compare = [&](const Seen &earlier, bool wrote) {
    if (!clash && !(earlier.atomic && access.atomic) && !isOrdered(earlier))
      clash = Clash{earlier.program, earlier.where, wrote, bool(earlier.atomic), false, 0, 0};
  };
  // A read replaces one that is before it. A byte may have thousands of programs as readers, so two of them are kept: if the storing one is
  // among them, the other one remains. Agents are few, and a store may be after some of them: all are kept.
  auto noteRead = [&](Cell &cell) {
    for (Seen &read : cell.reads)
      if (read.time == 0 || read.program == agent) {
        read = seen;
        return;
      }
    if (!keepsAllReaders) {
      (isOrdered(cell.reads[0]) ? cell.reads[0] : cell.reads[1]) = seen;
      return;
    }
    for (Seen &read : cell.reads)
      if (isOrdered(read)) {
        read = seen;
        return;
      }
    std::erase_if(cell.more, isOrdered);
    cell.more.push_back(seen);
  };
  for (uint64_t at = access.address, end = access.address + uint64_t(access.bytes); at < end;) {
    uint64_t pageEnd = std::min(end, (at / pageBytes + 1) * pageBytes);
    Page &page = pageFor(at, int64_t(pageEnd - at));
    for (; at < pageEnd; at += uint64_t(page.cellBytes)) {
      Cell &cell = page.cells[at % pageBytes / uint64_t(page.cellBytes)];
      if (!access.writes) {
        compare(cell.write, true);
        noteRead(cell);
        continue;
      }
      bool sameStore = !access.atomic && cell.write.time != 0 && cell.write.where == access.where && cell.execution == access.execution;
      if (!sameStore) compare(cell.write, true);
      for (const Seen &read : cell.reads)
        compare(read, false);
      for (const Seen &read : cell.more)
        compare(read, false);
      if (!clash && sameStore) clash = Clash{cell.write.program, access.where, true, false, true, at, 0};
      if (sameStore && clash->sameStore) clash->bytes = int64_t(at + uint64_t(page.cellBytes) - clash->address);
      cell.write = seen;
      cell.execution = access.execution;
      cell.reads[0] = cell.reads[1] = Seen();
      cell.more.clear();
    }
  }
  return clash;
}

static void join(AccessHistory::Clock &into, const AccessHistory::Clock &from) {
  for (auto [other, time] : from) {
    uint32_t &soFar = into[other];
    soFar = std::max(soFar, time);
  }
}

AccessHistory::Clock AccessHistory::fence(uint32_t program) {
  Clock clock;
  if (auto found = known.find(program); found != known.end()) clock = *found->second;
  uint32_t now = timeOf(program);
  clock[program] = now;
  times[program] = now + 1;
  return clock;
}

void AccessHistory::releaseAt(uint64_t address, const Clock &fence) {
  std::unique_ptr<Clock> &clock = released[address];
  if (!clock) clock = std::make_unique<Clock>();
  join(*clock, fence);
}

void AccessHistory::see(uint64_t address, Clock &seen) const {
  if (auto found = released.find(address); found != released.end()) join(seen, *found->second);
}

void AccessHistory::acquire(uint32_t program, uint64_t address) {
  if (auto found = released.find(address); found != released.end()) learn(program, *found->second);
}

void AccessHistory::release(uint32_t program, uint64_t address) {
  releaseAt(address, fence(program));
}

void AccessHistory::learn(uint32_t program, const Clock &seen) {
  if (seen.empty()) return;
  std::unique_ptr<Clock> &clock = known[program];
  if (!clock) clock = std::make_unique<Clock>();
  join(*clock, seen);
}

} // namespace tilewright
