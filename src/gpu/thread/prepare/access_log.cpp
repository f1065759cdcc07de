#include "gpu/thread/prepare/access_log.h"

#include "ir/address/indices.h"

using namespace mlir;

namespace tilewright::gpu {

AccessLog::Key AccessLog::keyOf(const GlobalAccess &access) {
  unsigned blind = access.blind ? 1 + unsigned(*access.blind) : 0;
  return {access.pointer.getAsOpaquePointer(), access.mask.getAsOpaquePointer(), access.loop, 2 * blind + unsigned(access.writes)};
}

void AccessLog::add(const GlobalAccess &access) {
  Key key = keyOf(access);
  auto [found, isNew] = positions.try_emplace(key, entries.size());
  size_t &at = found->second;
  if (!isNew && at >= begin && at < entries.size() && keyOf(entries[at]) == key) return;
  at = entries.size();
  entries.push_back(access);
  if (!access.base) entries.back().base = address::baseArgument(access.pointer);
}

void AccessLog::add(ArrayRef<GlobalAccess> accesses) {
  for (const GlobalAccess &access : accesses)
    add(access);
}

SmallVector<GlobalAccess> AccessLog::takeSince(Mark mark) {
  SmallVector<GlobalAccess> added(ArrayRef(entries).drop_front(std::max(begin, mark.end)));
  entries.truncate(mark.end);
  begin = mark.begin;
  return added;
}

} // namespace tilewright::gpu
