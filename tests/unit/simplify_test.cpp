// The assumptions of simplify about upstream's patterns.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace {

// Simplify leaves a pattern out by its name, which no compiler checks: without it a long loop would be slow to compile again.
TEST(Simplify, UpstreamHasThePatternThatLongLoopsDoWithout) {
  MLIRContext context;
  context.loadDialect<scf::SCFDialect>();
  RewritePatternSet patterns(&context);
  scf::ForOp::getCanonicalizationPatterns(patterns, &context);
  EXPECT_TRUE(llvm::any_of(patterns.getNativePatterns(), [](const std::unique_ptr<RewritePattern> &pattern) {
    return pattern->getDebugName() == "(anonymous namespace)::RemoveDuplicateSuccessorInputUses";
  }));
}

} // namespace
