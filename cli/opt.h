// `tilewright opt`: the passes on IR text, one at a time.
#pragma once

namespace tilewright {

/// Like mlir-opt, with our dialects and each of our passes under its file's name (--expand-block-pointers). Returns the exit status.
int optMain(int argc, char **argv);

} // namespace tilewright
