// An HTTP service that computes attention with a kernel that it compiles itself. cpp-httplib (Debian: libcpp-httplib-dev) does HTTP.
//
//   server attention.py 8080                 serves on port 8080 of this machine
//   server attention.py --load SECONDS       serves on a free port, and tests itself: eight threads send requests and check each answer
//
//   POST /attention?n=100&dim=64&causal=1    body: the rows of q, k and v, one matrix after another, n x dim float32 each, as in memory.
//                                            Answer: the rows of the result. 400: the request is wrong. 503: it takes too long
//   GET  /metrics                            counters, as Prometheus reads them
//
// What an embedding program should set is set here: a limit for compiled kernels, a deadline for each request, an observer for metrics,
// compilation before the first request.
#include "tilewright/embed.h"

#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <httplib.h>
#include <random>
#include <thread>

namespace tw = tilewright;

namespace {

constexpr int64_t maxRows = 4096, maxColumns = 128, block = 32;

struct Metrics {
  std::atomic<int64_t> compilations{0}, launches{0}, evictions{0}, failures{0};
  std::atomic<double> compileSeconds{0};

  void count(const tw::Event &event) {
    if (event.kind == TW_EVENT_COMPILE_FINISHED) ++compilations, compileSeconds.fetch_add(event.seconds);
    if (event.kind == TW_EVENT_LAUNCH) ++launches;
    if (event.kind == TW_EVENT_EVICTED) ++evictions;
    failures += event.failed;
  }
  std::string text() const {
    return "attention_compilations_total " + std::to_string(compilations) + "\nattention_compile_seconds_total " +
           std::to_string(compileSeconds.load()) + "\nattention_launches_total " + std::to_string(launches) +
           "\nattention_evictions_total " + std::to_string(evictions) + "\nattention_failures_total " + std::to_string(failures) +
           "\nattention_kernels " + std::to_string(tw::codeUse().kernels) + "\n";
  }
};

struct Problem {
  int64_t n = 0, dim = 0;
  bool causal = false;
  size_t elements() const { return static_cast<size_t>(n * dim); } // of one matrix
};

tw::Result<void> attend(const tw::Kernel &kernel, const Problem &problem, const float *inputs, std::vector<float> &out) {
  size_t size = problem.elements();
  std::span<const float> q(inputs, size), k(inputs + size, size), v(inputs + 2 * size, size);
  float scale = 1 / std::sqrt(static_cast<float>(problem.dim));
  return kernel.launch(tw::Grid(tw::cdiv(problem.n, block)),
                       {q, k, v, out, problem.n, scale, {"HEAD_DIM", problem.dim}, {"BLOCK", block}, {"CAUSAL", problem.causal}},
                       {.timeoutSeconds = 10});
}

/// Reads the numbers of a request. Returns what is wrong, or an empty text.
std::string read(const httplib::Request &request, Problem &problem) {
  auto number = [&](const char *name) {
    std::string text = request.get_param_value(name);
    int64_t value = -1; // as for a text that is no number
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : -1;
  };
  problem = {number("n"), number("dim"), number("causal") > 0};
  if (problem.n < 1 || problem.n > maxRows) return "n must be from 1 to " + std::to_string(maxRows);
  if (problem.dim != 16 && problem.dim != 32 && problem.dim != 64 && problem.dim != 128) return "dim must be 16, 32, 64 or 128";
  if (request.body.size() != 3 * problem.elements() * sizeof(float)) return "the body must have 3 * n * dim numbers of 4 bytes";
  return "";
}

void answer(const tw::Kernel &kernel, const httplib::Request &request, httplib::Response &response) {
  Problem problem;
  std::string wrong = read(request, problem);
  if (!wrong.empty()) {
    response.status = 400;
    return response.set_content(wrong + "\n", "text/plain");
  }
  std::vector<float> inputs(3 * problem.elements()), out(problem.elements());
  std::memcpy(inputs.data(), request.body.data(), request.body.size());
  tw::Result<void> done = attend(kernel, problem, inputs.data(), out);
  if (done) return response.set_content(reinterpret_cast<const char *>(out.data()), out.size() * sizeof(float), "application/octet-stream");
  response.status = done.code() == TW_ERROR_DEADLINE ? 503 : 500;
  response.set_content(done.error(), "text/plain");
}

// ---- the load test

std::vector<float> expected(const Problem &problem, const std::vector<float> &inputs) {
  size_t dim = static_cast<size_t>(problem.dim), n = static_cast<size_t>(problem.n), size = problem.elements();
  const float *q = inputs.data(), *k = q + size, *v = k + size;
  std::vector<float> out(size);
  for (size_t i = 0; i < n; ++i) {
    size_t last = problem.causal ? i + 1 : n;
    std::vector<double> weights(last);
    double largest = -HUGE_VAL, total = 0;
    for (size_t j = 0; j < last; ++j) {
      for (size_t d = 0; d < dim; ++d)
        weights[j] += double(q[i * dim + d]) * k[j * dim + d];
      largest = std::max(largest, weights[j] /= std::sqrt(double(dim)));
    }
    for (double &weight : weights)
      total += weight = std::exp(weight - largest);
    for (size_t d = 0; d < dim; ++d) {
      double sum = 0;
      for (size_t j = 0; j < last; ++j)
        sum += weights[j] / total * v[j * dim + d];
      out[i * dim + d] = static_cast<float>(sum);
    }
  }
  return out;
}

/// Sends one request. Returns what is wrong, or an empty text.
std::string request(httplib::Client &client, std::mt19937 &random) {
  Problem problem{1 + static_cast<int64_t>(random() % 100), int64_t{16} << random() % 3, random() % 2 == 0};
  std::vector<float> inputs(3 * problem.elements());
  std::normal_distribution<float> normal;
  for (float &number : inputs)
    number = normal(random);
  std::string path =
      "/attention?n=" + std::to_string(problem.n) + "&dim=" + std::to_string(problem.dim) + "&causal=" + (problem.causal ? "1" : "0");
  auto response =
      client.Post(path, reinterpret_cast<const char *>(inputs.data()), inputs.size() * sizeof(float), "application/octet-stream");
  if (!response) return "no answer: " + httplib::to_string(response.error());
  if (response->status != 200) return "status " + std::to_string(response->status) + ": " + response->body;
  std::vector<float> wanted = expected(problem, inputs), found(wanted.size());
  if (response->body.size() != found.size() * sizeof(float)) return "an answer of " + std::to_string(response->body.size()) + " bytes";
  std::memcpy(found.data(), response->body.data(), response->body.size());
  for (size_t i = 0; i < found.size(); ++i)
    if (!(std::abs(found[i] - wanted[i]) <= 1e-4f)) return "a wrong number at " + std::to_string(i) + " of " + path;
  return "";
}

/// Eight threads send requests for so long. Returns the number of failures, of which the first ones are printed.
int64_t load(int port, double seconds, int64_t &requests) {
  std::atomic<int64_t> sent{0}, failed{0};
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 8; ++number)
    threads.emplace_back([&, number] {
      httplib::Client client("127.0.0.1", port);
      client.set_keep_alive(true);
      client.set_read_timeout(60);
      std::mt19937 random(number);
      while (std::chrono::steady_clock::now() < end) {
        std::string problem = request(client, random);
        ++sent;
        if (!problem.empty() && ++failed <= 5) std::printf("FAILED: %s\n", problem.c_str());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  requests = sent;
  return failed;
}

int fail(const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) return fail("usage: server attention.py PORT, or server attention.py --load SECONDS");
  auto module = tw::Module::fromFile(argv[1]);
  if (!module) return fail(module.error());
  auto kernel = module->kernel("attention");
  if (!kernel) return fail(kernel.error());
  Metrics metrics;
  tw::onEvent([&](const tw::Event &event) { metrics.count(event); });
  if (auto done = tw::setCodeLimits(64, int64_t{64} << 20); !done) return fail(done.error());
  std::vector<float> one(64);
  auto ready = kernel->prepare(1, {one, one, one, one, 1, 1.0f, {"HEAD_DIM", 64}, {"BLOCK", block}});
  if (!ready) return fail(ready.error());

  httplib::Server server;
  server.set_tcp_nodelay(true);
  server.set_payload_max_length(3 * maxRows * maxColumns * sizeof(float)); // a larger request is answered with 413 and not read
  server.Post("/attention", [&](const httplib::Request &request, httplib::Response &response) { answer(*kernel, request, response); });
  server.Get("/metrics",
             [&](const httplib::Request &, httplib::Response &response) { response.set_content(metrics.text(), "text/plain"); });
  bool isTest = std::string(argv[2]) == "--load";
  if (!isTest) {
    std::printf("serving on port %s\n", argv[2]);
    return server.listen("127.0.0.1", std::atoi(argv[2])) ? 0 : fail("the port cannot be used");
  }
  int port = server.bind_to_any_port("127.0.0.1");
  std::thread serving([&] { server.listen_after_bind(); });
  while (!server.is_running())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  int64_t requests = 0, failures = load(port, argc > 3 ? std::atof(argv[3]) : 60, requests);
  server.stop();
  serving.join();
  tw::onEvent({});
  std::printf("%s", metrics.text().c_str());
  std::printf("%lld requests from 8 threads, %lld failed\n", static_cast<long long>(requests), static_cast<long long>(failures));
  return failures == 0 && requests > 0 ? 0 : 1;
}
