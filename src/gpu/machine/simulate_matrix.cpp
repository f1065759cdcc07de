// Matrix instructions. All have the same fragment of K-major 32-bit registers (the PTX manual's figures): with w elements to a register,
//
//   a, register r, element s of lane l: row l / 4 + 8 * (r & 1), column (l % 4) * w + s + 4 * w * (r / 2)
//   b (as k, n):                        k = (l % 4) * w + s + 4 * w * r, n = l / 4
//   d, accumulator e:                   row l / 4 + 8 * (e / 2 & 1), column (l % 4) * 2 + (e & 1) + 8 * (e / 4)
//
// The smaller shapes have the first registers of these: m16n8k8 of fp16 a 0 and 1, b 0; m8n8k16 of bytes a 0, b 0, d 0 and 1.
//
// wgmma does this for each warp of four, on 16 of 64 rows; a and b come from shared memory through descriptors. Each warp computes its rows
// at the issue. But until wgmma_wait its results count as in flight, and the bytes as being read.
#include "gpu/machine/descriptors.h"
#include "gpu/machine/simulate_program.h"
#include "gpu/machine/wgmma_descriptor.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace tilewright::gpu::sim {

static int64_t bitsOf(ptx::Format format) {
  return format == ptx::Format::f64 ? 64 : bitsOf(tensorFormat(format));
}

// ---- 8x8 matrices

static bool ldmatrix(Warp &warp, const Step &step, ptx::LdmatrixOp op) {
  size_t count = step.results.size();
  std::vector<std::array<uint16_t, 8>> rows(8 * count);
  for (size_t row = 0; row < rows.size(); ++row) {
    uint64_t address = warp.cta.local(warp.get(step, 0)[row] + uint64_t(op.getOffset()));
    if (!warp.touch(step, int64_t(row), address, 16, Warp::Access::read, 16)) return false;
    std::memcpy(rows[row].data(), warp.cta.at(address), 16);
  }
  for (size_t matrix = 0; matrix < count; ++matrix)
    for (size_t lane = 0; lane < 32; ++lane) {
      size_t outer = lane / 4, inner = lane % 4 * 2;
      const auto *m = &rows[8 * matrix];
      uint64_t low = op.getTransposed() ? m[inner][outer] : m[outer][inner],
               high = op.getTransposed() ? m[inner + 1][outer] : m[outer][inner + 1];
      warp.result(step, matrix)[lane] = high << 16 | low;
    }
  return true;
}

static bool stmatrix(Warp &warp, const Step &step, ptx::StmatrixOp op) {
  std::vector<std::array<uint16_t, 8>> rows(8 * (step.operands.size() - 1));
  auto addressOf = [&](size_t row) { return warp.cta.local(warp.get(step, 0)[row] + uint64_t(op.getOffset())); };
  for (size_t row = 0; row < rows.size(); ++row) {
    // Record the bytes as written by the lane that gives the address: its fence_async counts for them.
    if (!warp.touch(step, int64_t(row), addressOf(row), 16, Warp::Access::write, 16)) return false;
    const Lanes &values = warp.get(step, 1 + row / 8);
    for (size_t column = 0; column < 8; ++column) {
      size_t outer = op.getTransposed() ? column : row % 8, inner = op.getTransposed() ? row % 8 : column;
      rows[row][column] = uint16_t(values[outer * 4 + inner / 2] >> (16 * (inner % 2)));
    }
    std::memcpy(warp.cta.at(addressOf(row)), rows[row].data(), 16);
  }
  for (size_t row = 0; row < rows.size(); ++row)
    if (!warp.checkWritten(step, int64_t(row), addressOf(row), rows[row].data(), 16)) return false;
  return true;
}

// ---- fragments

/// Gathers the matrix in a warp's `count` registers of A, which start at operand `first`; K is the row length of `out`.
static void gatherA(const Warp &warp, const Step &step, size_t first, int64_t count, ptx::Format format, int64_t inner,
                    std::vector<double> &out) {
  int64_t bits = bitsOf(format), width = 32 / bits;
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane)
    for (int64_t reg = 0; reg < count; ++reg)
      for (int64_t s = 0; s < width; ++s) {
        int64_t row = lane / 4 + 8 * (reg & 1), column = lane % 4 * width + s + 4 * width * (reg / 2);
        out[row * inner + column] = decode(tensorFormat(format), uint32_t(warp.get(step, first + size_t(reg))[lane] >> (s * bits)));
      }
}

void multiply(Warp &warp, const Step &step, const std::vector<double> &a, const std::vector<double> &b, int64_t inner, int64_t count,
              size_t firstC, ptx::Format format, uint32_t lanesWithC) {
  bool packed = format == ptx::Format::f16;
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane)
    for (int64_t e = 0; e < count; ++e) {
      int64_t row = lane / 4 + 8 * (e >> 1 & 1), column = lane % 4 * 2 + (e & 1) + 8 * (e >> 2);
      size_t reg = size_t(packed ? e / 2 : e);
      int64_t shift = packed ? 16 * (e & 1) : 0;
      double sum = 0;
      const double *x = &a[row * inner], *y = &b[column * inner];
      for (int64_t k = 0; k < inner; ++k)
        sum += x[k] * y[k];
      if (lanesWithC >> lane & 1) sum += decode(tensorFormat(format), uint32_t(warp.get(step, firstC + reg)[lane] >> shift));
      uint64_t bits = encode(tensorFormat(format), sum);
      uint64_t &result = warp.result(step, reg)[lane];
      result = shift ? (result & 0xffff) | bits << 16 : bits;
    }
}

/// The registers of A, B and the accumulators of a shape that exists: m16n8 with 32 bytes of K, and the two smaller ones.
static bool hasShape(ptx::Format a, ptx::Format c, size_t aSize, size_t bSize, size_t cSize) {
  size_t packed = c == ptx::Format::f16 ? 2 : 1;
  if (aSize == 4) return bSize == 2 && cSize == 4 / packed;
  if (aSize == 2) return a == ptx::Format::f16 && bSize == 1 && cSize == 4 / packed;
  return aSize == 1 && (a == ptx::Format::s8 || a == ptx::Format::u8) && bSize == 1 && cSize == 2;
}

static bool mma(Warp &warp, const Step &step, ptx::MmaOp op) {
  ptx::Format aFormat = op.getAFormat(), bFormat = op.getBFormat(), format = op.getCFormat();
  size_t aSize = op.getA().size(), bSize = op.getB().size(), cSize = op.getC().size();
  if (bitsOf(aFormat) != bitsOf(bFormat) || !hasShape(aFormat, format, aSize, bSize, cSize) || step.results.size() != cSize)
    return warp.fail(step, "there is no mma of these formats with so many registers");
  int64_t bits = bitsOf(aFormat), width = 32 / bits, inner = 4 * width * int64_t(bSize);
  std::vector<double> a(size_t(16 * inner)), b(size_t(8 * inner));
  gatherA(warp, step, 0, int64_t(aSize), aFormat, inner, a);
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane)
    for (int64_t reg = 0; reg < int64_t(bSize); ++reg)
      for (int64_t s = 0; s < width; ++s)
        b[lane / 4 * inner + lane % 4 * width + s + 4 * width * reg] =
            decode(tensorFormat(bFormat), uint32_t(warp.get(step, aSize + size_t(reg))[lane] >> (s * bits)));
  multiply(warp, step, a, b, inner, int64_t(format == ptx::Format::f16 ? 2 * cSize : cSize), aSize + bSize, format, allLanes);
  return true;
}

// ---- wgmma

namespace {
/// A matrix in shared memory.
struct WgmmaMatrix : WgmmaDescriptor {
  /// Returns the address of 16 bytes of row `row`, from byte `byte` of its K.
  uint64_t kMajor(int64_t row, int64_t byte) const {
    uint64_t group = uint64_t(row / 8) * stride;
    if (!span) return start + group + uint64_t(row % 8 * 16) + uint64_t(byte / 16) * leading;
    return swizzled(start + group + uint64_t(row % 8 * span + byte), span);
  }
  /// Returns the address of 8 elements of 16 bits, from `row` (a multiple of 8) on, at `k`.
  uint64_t rowMajor(int64_t row, int64_t k) const {
    if (!span) return start + uint64_t(row / 8) * stride + uint64_t(k / 8) * leading + uint64_t(k % 8 * 16);
    int64_t elements = span / 2;
    return swizzled(start + uint64_t(row / elements) * leading + uint64_t(k / 8) * stride + uint64_t(k % 8 * span + row % elements * 2),
                    span);
  }
};
} // namespace

/// Reads rows [first, first + rows) of the descriptor's operand, and records the bytes.
static bool readOperand(Warp &warp, const Step &step, uint64_t bits, int64_t first, int64_t rows, ptx::Format format, bool transposed,
                        std::vector<double> &out, std::vector<Chunk> &chunks) {
  WgmmaMatrix descriptor{decodeWgmma(bits)};
  if (descriptor.baseOffset) return warp.fail(step, "the simulator does not support descriptors with a base offset");
  int64_t width = bitsOf(format), inner = 256 / width;
  auto read = [&](uint64_t address, auto each) {
    if (!warp.touch(step, -1, address, 16, Warp::Access::asyncRead, 16)) return false;
    chunks.push_back({address, 16});
    for (int64_t i = 0; i < 128 / width; ++i)
      each(i, decode(tensorFormat(format), uint32_t(warp.cta.load(address + uint64_t(i * width / 8), width / 8))));
    return true;
  };
  if (!transposed) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t byte = 0; byte < 32; byte += 16)
        if (!read(descriptor.kMajor(first + row, byte), [&](int64_t i, double value) { out[row * inner + byte * 8 / width + i] = value; }))
          return false;
    return true;
  }
  for (int64_t k = 0; k < inner; ++k)
    for (int64_t row = 0; row < rows; row += 8)
      if (!read(descriptor.rowMajor(first + row, k), [&](int64_t i, double value) { out[(row + i) * inner + k] = value; })) return false;
  return true;
}

/// True if two wgmma may accumulate into the same registers without a wait in between (PTX ISA 9.7.15.7.1).
static bool haveOneShape(ptx::WgmmaOp a, ptx::WgmmaOp b) {
  return a.getN() == b.getN() && a.getCFormat() == b.getCFormat() && bitsOf(a.getAFormat()) == bitsOf(b.getAFormat());
}

static bool wgmma(Warp &warp, const Step &step, ptx::WgmmaOp op) {
  ptx::Format aFormat = op.getAFormat(), bFormat = op.getBFormat(), format = op.getCFormat();
  int64_t n = op.getN(), bits = bitsOf(aFormat), inner = 256 / bits;
  size_t aSize = op.getA().size(), cSize = op.getC().size();
  if (warp.cta.warps.size() % 4) return warp.fail(step, "the number of warps is not a multiple of 4");
  if (bitsOf(bFormat) != bits || bits > 32) return warp.fail(step, "unsupported formats");
  if (!warp.matrixFence) return warp.fail(step, "wgmma_fence is missing before the first wgmma");

  if (std::optional<uint32_t> warps = op.getPartialWarps(); warps && warp.index >= int64_t(*warps)) {
    for (size_t i = 0; i < cSize; ++i)
      warp.copy(step.operands[aSize + 1 + i], step.results[i]);
    return true;
  }
  uint32_t withC = op.getUseC() ? warp.lanesWhere(step, int64_t(aSize + 1 + cSize)) : allLanes;
  if (withC != 0 && withC != allLanes) return warp.fail(step, "lanes disagree on whether c is added");
  for (size_t i = 0; i < step.operands.size(); ++i) {
    size_t value = size_t(step.operands[i]);
    bool isC = i > aSize && i <= aSize + cSize, isRegister = (isC && withC) || (aSize == 4 && i < 4);
    if (warp.inFlight[value] && !isC) return warp.fail(step, "an accumulator is used without a wgmma_wait for its group");
    if (uint32_t sequence = warp.inFlight[value]; isC && sequence && sequence > warp.matrixDone) {
      uint32_t other = warp.matrixTrace[sequence - 1];
      if (!haveOneShape(op, cast<ptx::WgmmaOp>(warp.cta.program.ops[other])))
        return warp.fail(step, "the accumulator of a wgmma of another shape is used without a wgmma_wait for its group", -1, other);
    }
    if (isRegister && !warp.inFlight[value] && warp.definedAt[value] > warp.matrixFence)
      return warp.fail(step, "wgmma_fence is missing: a register was written after the last one");
  }

  std::vector<double> a(size_t(16 * inner)), b(size_t(n * inner));
  MatrixRead reads;
  reads.op = step.number;
  reads.sequence = ++warp.matrixIssued;
  int64_t firstRow = warp.index % 4 * 16;
  if (aSize == 4)
    gatherA(warp, step, 0, 4, aFormat, inner, a);
  else if (!readOperand(warp, step, warp.get(step, 0)[0], firstRow, 16, aFormat, op.getATransposed(), a, reads.chunks))
    return false;
  if (!readOperand(warp, step, warp.get(step, aSize)[0], 0, n, bFormat, op.getBTransposed(), b, reads.chunks)) return false;
  for (const Chunk &chunk : reads.chunks)
    warp.cta.countReads(chunk, 1);
  warp.matrixReads.push_back(std::move(reads));
  warp.matrixTrace.push_back(step.number);
  multiply(warp, step, a, b, inner, n / 2, aSize + 1, format, withC);
  for (int32_t value : step.results)
    warp.inFlight[value] = warp.matrixIssued;
  return true;
}

static bool wgmmaFence(Warp &warp, const Step &, ptx::WgmmaFenceOp) {
  warp.matrixFence = warp.steps;
  return true;
}

static bool wgmmaCommit(Warp &warp, const Step &, ptx::WgmmaCommitOp) {
  warp.matrixGroups.push_back(warp.matrixIssued);
  return true;
}

static bool wgmmaWait(Warp &warp, const Step &step, ptx::WgmmaWaitOp op) {
  size_t pending = size_t(op.getPending());
  for (; warp.matrixGroups.size() > pending; warp.matrixGroups.pop_front())
    warp.matrixDone = warp.matrixGroups.front();
  // The four warps run a wgmma together: when it completes for one, it completes for all, so each warp may free the bytes for the other
  // ones.
  if (warp.matrixDone) {
    Cta &cta = warp.cta;
    size_t group = size_t(warp.index / 4), component = cta.warps.size() + group;
    auto issued = [&] {
      for (size_t peer = 4 * group; peer < 4 * group + 4; ++peer)
        if (cta.warps[peer]->matrixIssued < warp.matrixDone) return false;
      return true;
    };
    if (!issued() && !warp.waitUntil(step, "the other warps' wgmma", issued)) return false;
    for (size_t peer = 4 * group; peer < 4 * group + 4; ++peer) {
      auto &open = cta.warps[peer]->matrixReads;
      for (; !open.empty() && open.front().sequence <= warp.matrixDone; open.pop_front())
        for (const Chunk &chunk : open.front().chunks) {
          cta.countReads(chunk, -1);
          cta.noteRead(chunk.address, chunk.bytes, int64_t(component), open.front().sequence, open.front().op);
        }
    }
    warp.clock[component] = std::max(warp.clock[component], warp.matrixDone);
  }
  for (auto [from, to] : llvm::zip(step.operands, step.results)) {
    warp.copy(from, to);
    uint32_t &state = warp.inFlight[to];
    if (state && state <= warp.matrixDone) {
      state = 0;
      warp.definedAt[to] = 0; // only wgmma has written it: accumulating into it needs no fence
    }
  }
  return true;
}

void addMatrixHandlers(HandlerTable &table) {
  table.add<ldmatrix, stmatrix, mma, wgmmaFence, wgmma, wgmmaCommit, wgmmaWait>();
  table.rows["ptx.wgmma"].forwards = true;
  table.rows["ptx.wgmma_wait"].forwards = true;
}

} // namespace tilewright::gpu::sim
