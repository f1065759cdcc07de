#include "tune/background_compiler.h"

#include "support/work_control.h"

#include <algorithm>

namespace tilewright {

BackgroundCompiler::BackgroundCompiler(size_t count, int64_t threads, CompileConfig compile)
    : compile(std::move(compile)), control(currentControl()), done(count), failures(count) {
  int64_t workersWanted = std::min(threads, static_cast<int64_t>(count));
  if (workersWanted < 2) return;
  auto run = [](void *self) -> void * {
    static_cast<BackgroundCompiler *>(self)->work();
    return nullptr;
  };
  // Fewer workers are slower. Without any, each configuration is compiled when it is measured.
  for (int64_t i = 0; i < workersWanted; ++i) {
    pthread_t worker;
    if (pthread_create(&worker, nullptr, run, this) != 0) break;
    workers.push_back(worker);
  }
}

BackgroundCompiler::~BackgroundCompiler() {
  next = failures.size();
  for (pthread_t worker : workers)
    pthread_join(worker, nullptr);
}

void BackgroundCompiler::work() {
  ControlScope scope(control);
  for (size_t config = next++; config < failures.size(); config = next++) {
    std::optional<std::string> failure = compile(config);
    std::lock_guard<std::mutex> guard(lock);
    done[config] = true;
    failures[config] = std::move(failure);
    changed.notify_all();
  }
}

std::optional<std::string> BackgroundCompiler::wait(size_t config) {
  if (workers.empty()) return std::nullopt;
  std::unique_lock<std::mutex> guard(lock);
  changed.wait(guard, [&] { return done[config]; });
  return failures[config];
}

} // namespace tilewright
