#include "author/roofline.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace tilewright::author {

static constexpr double width = 720, height = 440, margin = 64;

namespace {

struct PlotPosition {
  double x, y;
};

/// Both logarithmic.
struct Axes {
  double left, right, bottom, top; // powers of ten
  PlotPosition place(double x, double y) const {
    double across = (std::log10(x) - left) / (right - left), up = (std::log10(y) - bottom) / (top - bottom);
    return {margin + across * (width - 2 * margin), height - margin - up * (height - 2 * margin)};
  }
};

} // namespace

/// At most four digits that count.
static std::string brief(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

static std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return result;
}

static std::string textAt(PlotPosition at, const std::string &text, const char *anchor = "middle", const char *more = "") {
  return llvm::formatv("<text x=\"{0:f1}\" y=\"{1:f1}\" text-anchor=\"{2}\" font-size=\"12\" font-family=\"sans-serif\" {3}>{4}</text>\n",
                       at.x, at.y, anchor, more, escaped(text));
}

static std::string line(PlotPosition from, PlotPosition to, const char *style) {
  return llvm::formatv("<line x1=\"{0:f1}\" y1=\"{1:f1}\" x2=\"{2:f1}\" y2=\"{3:f1}\" {4}/>\n", from.x, from.y, to.x, to.y, style);
}

static std::string drawGrid(const Axes &axes) {
  const char *grey = "stroke=\"#ddd\"";
  std::string drawn;
  double floor = std::pow(10, axes.bottom), side = std::pow(10, axes.left);
  for (double decade = std::floor(axes.left); decade <= std::ceil(axes.right); ++decade) {
    PlotPosition foot = axes.place(std::pow(10, decade), floor);
    if (foot.x < margin - 1 || foot.x > width - margin + 1) continue;
    drawn += line({foot.x, margin}, foot, grey) + textAt({foot.x, foot.y + 18}, brief(std::pow(10, decade)));
  }
  for (double decade = std::floor(axes.bottom); decade <= std::ceil(axes.top); ++decade) {
    PlotPosition foot = axes.place(side, std::pow(10, decade));
    if (foot.y < margin - 1 || foot.y > height - margin + 1) continue;
    drawn += line(foot, {width - margin, foot.y}, grey) + textAt({foot.x - 6, foot.y + 4}, brief(std::pow(10, decade) / 1e9), "end");
  }
  return drawn;
}

static Axes axesFor(const RooflinePoint &point, double ridge) {
  Axes axes{};
  axes.left = std::floor(std::log10(std::min(point.intensity, ridge)) - 0.5);
  axes.right = std::ceil(std::log10(std::max(point.intensity, ridge)) + 0.5);
  axes.bottom = std::floor(std::log10(std::min(point.rate, std::pow(10, axes.left) * point.bandwidth)));
  axes.top = std::ceil(std::log10(std::max(point.rate, point.peak)) + 0.1);
  return axes;
}

std::string drawRoofline(const RooflinePoint &point) {
  double ridge = point.peak / point.bandwidth, allowed = std::min(point.peak, point.intensity * point.bandwidth);
  Axes axes = axesFor(point, ridge);
  double first = std::pow(10, axes.left), last = std::pow(10, axes.right);
  PlotPosition begin = axes.place(first, first * point.bandwidth), corner = axes.place(ridge, point.peak), end = axes.place(last, point.peak);
  PlotPosition kernel = axes.place(point.intensity, point.rate), above = axes.place(point.intensity, allowed);
  std::string drawn = llvm::formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
                                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
                                    static_cast<int>(width), static_cast<int>(height));
  drawn += textAt({width / 2, 24}, point.title, "middle", "font-weight=\"bold\"") + drawGrid(axes);
  drawn += llvm::formatv(
      "<polyline points=\"{0:f1},{1:f1} {2:f1},{3:f1} {4:f1},{5:f1}\" fill=\"none\" stroke=\"#1f77b4\" stroke-width=\"2\"/>\n", begin.x,
      begin.y, corner.x, corner.y, end.x, end.y);
  drawn += line(kernel, above, "stroke=\"#d62728\" stroke-dasharray=\"4\"");
  drawn += llvm::formatv("<circle cx=\"{0:f1}\" cy=\"{1:f1}\" r=\"5\" fill=\"#d62728\"/>\n", kernel.x, kernel.y);
  std::string share = std::to_string(std::lround(100 * point.rate / allowed)) + "%";
  drawn += textAt({kernel.x + 10, kernel.y + 4}, brief(point.rate / 1e9) + " GFLOP/s, " + share, "start");
  drawn += textAt({begin.x + 14, begin.y + 4}, brief(point.bandwidth / 1e9) + " GB/s", "start");
  drawn += textAt({width - margin, end.y - 8}, brief(point.peak / 1e9) + " GFLOP/s", "end");
  drawn += textAt({width / 2, height - 16}, "operations a byte");
  drawn += textAt({18, height / 2}, "GFLOP/s", "middle", "transform=\"rotate(-90 18 220)\"");
  return drawn + "</svg>\n";
}

} // namespace tilewright::author
