// A folder as Linux describes a machine's nodes of memory in.
#pragma once

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

#include <fstream>
#include <string>
#include <vector>

struct MadeUpNodes {
  std::string root;
  /// `lists`: the CPUs of each node, as in "0-3,8".
  MadeUpNodes(const std::string &online, const std::vector<std::string> &lists) {
    llvm::SmallString<128> made;
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("nodes", made));
    root = made.str().str();
    std::ofstream(root + "/online") << online << "\n";
    for (size_t i = 0; i < lists.size(); ++i) {
      std::string folder = root + "/node" + std::to_string(i);
      EXPECT_FALSE(llvm::sys::fs::create_directories(folder));
      std::ofstream(folder + "/cpulist") << lists[i] << "\n";
    }
  }
  ~MadeUpNodes() { llvm::sys::fs::remove_directories(root); }
};
