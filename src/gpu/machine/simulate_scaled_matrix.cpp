// mma.sync of formats with 4 to 8 bits, with and without scales. From the PTX manual, for a lane l with quad l / 4 and thread l % 4:
//
//   K = 32, a byte for each number:
//     a i = 0..15   row l / 4 + 8 * (i / 4 & 1), column l % 4 * 4 + i % 4 + 16 * (i / 8); b i = 0..7 the same without rows
//     4 bits are in bits 2 to 5 of the byte, 6 bits are the low ones
//   K = 64, two numbers in a byte:
//     a i = 0..31   row l / 4 + 8 * (i / 8 & 1), column l % 4 * 8 + i % 8 + 32 * (i / 16); b i = 0..15 the same without rows
//   Each row of A and column of B has `vector` scales, for equal parts of K. They are adjacent bytes, from `byte` on, of a register:
//     row r of A      lane 4 * (r % 8) + 2 * thread + r / 8    thread 0 or 1: a pair of a quad's lanes
//     column c of B   lane 4 * c + thread                      thread 0 to 3: a lane of a quad
//   d = sum of (a * scale of a) * (b * scale of b), + c, with accumulators as for other formats
#include "gpu/machine/simulate_program.h"
#include "gpu/machine/small_floats.h"

using namespace mlir;

namespace tilewright::gpu::sim {

static constexpr int64_t rows = 16, columns = 8;

/// The numbers of a matrix of `outer` rows (A) or columns (B), K in each, from the registers that start at operand `first`.
static std::vector<double> gather(const Warp &warp, const Step &step, size_t first, int64_t registers, int64_t outer, int64_t k,
                                  ptx::Format format) {
  std::vector<double> numbers(size_t(outer * k));
  int64_t inRegister = k / 8, bits = 32 / inRegister; // 4 or 8 numbers in a register
  int64_t halfStep = registers / 2;                   // registers of one half of K
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane)
    for (int64_t reg = 0; reg < registers; ++reg)
      for (int64_t i = 0; i < inRegister; ++i) {
        int64_t row = lane / 4 + 8 * (reg % halfStep), column = lane % 4 * inRegister + i + k / 2 * (reg / halfStep);
        uint64_t code = warp.get(step, first + size_t(reg))[lane] >> (i * bits);
        if (bits == 8 && format == ptx::Format::e2m1) code >>= 2;
        numbers[row * k + column] = decode(tensorFormat(format), uint32_t(code));
      }
  return numbers;
}

/// Multiplies each row (or column) by its scales. False if a scale is not one of the format.
static bool scale(Warp &warp, const Step &step, size_t operand, bool isA, std::vector<double> &numbers) {
  auto op = cast<ptx::ScaledMmaOp>(step.op);
  int64_t k = op.getK(), vector = op.getVector(), byte = isA ? op.getAByte() : op.getBByte(),
          thread = isA ? op.getAThread() : op.getBThread();
  for (int64_t outer = 0; outer < int64_t(numbers.size()) / k; ++outer) {
    int64_t lane = isA ? 4 * (outer % 8) + 2 * thread + outer / 8 : 4 * outer + thread;
    for (int64_t i = 0; i < k; ++i) {
      uint64_t bits = warp.get(step, operand)[lane] >> (8 * (byte + i / (k / vector))) & 0xff;
      if (op.getScaleFormat() == ptx::Format::ue4m3 && bits >> 7) return warp.fail(step, "a scale of ue4m3 has a sign");
      numbers[outer * k + i] *= decode(tensorFormat(op.getScaleFormat()), uint32_t(bits));
    }
  }
  return true;
}

/// Which kinds take these formats and scales; an empty text if there is one.
static std::string problemOf(ptx::ScaledMmaOp op) {
  auto isSmall = [](ptx::Format format) {
    return llvm::is_contained({ptx::Format::e4m3, ptx::Format::e5m2, ptx::Format::e2m3, ptx::Format::e3m2, ptx::Format::e2m1}, format);
  };
  int64_t vector = op.getVector();
  bool isExponent = op.getScaleFormat() == ptx::Format::ue8m0,
       isPair = op.getAFormat() == ptx::Format::e2m1 && op.getBFormat() == ptx::Format::e2m1;
  if (op.getA().size() != 4 || op.getB().size() != 2 || op.getC().size() != 4) return "takes 4, 2 and 4 registers";
  if (!isSmall(op.getAFormat()) || !isSmall(op.getBFormat())) return "takes formats of 4 to 8 bits";
  if (!isExponent && op.getScaleFormat() != ptx::Format::ue4m3) return "takes scales of ue8m0 or ue4m3";
  if (op.getScales().size() != (vector ? 2 : 0)) return "takes a register of scales for each operand, or none";
  if (op.getK() == 32 && vector <= 1) return isExponent ? "" : "takes scales of ue8m0 for K = 32";
  if (op.getK() != 64 || !isPair) return "takes K = 32, or K = 64 and e2m1 alone";
  if (vector != (isExponent ? 2 : 4)) return "takes 2 scales of ue8m0, or 4 of ue4m3, for K = 64";
  if (op.getAByte() % vector || op.getBByte() % vector) return "takes scales from a byte that is a multiple of their number";
  return "";
}

static bool scaledMma(Warp &warp, const Step &step, ptx::ScaledMmaOp op) {
  std::string problem = problemOf(op);
  if (problem.empty() && (op.getAByte() > 3 || op.getBByte() > 3 || op.getAThread() > 1 || op.getBThread() > 3))
    problem = "selects scales by bytes 0 to 3, threads 0 to 1 for A and 0 to 3 for B";
  if (!problem.empty()) return warp.fail(step, problem);
  int64_t k = op.getK();
  std::vector<double> a = gather(warp, step, 0, 4, rows, k, op.getAFormat()), b = gather(warp, step, 4, 2, columns, k, op.getBFormat());
  if (op.getVector() && (!scale(warp, step, 10, true, a) || !scale(warp, step, 11, false, b))) return false;
  multiply(warp, step, a, b, k, 4, 6, ptx::Format::f32, allLanes);
  return true;
}

void addScaledMatrixHandlers(HandlerTable &table) {
  table.add<scaledMma>();
}

} // namespace tilewright::gpu::sim
