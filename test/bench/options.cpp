#include "bench/options.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>

namespace simjoin::bench {

namespace {

// The shapes of the published evaluations, at scales at which all of them fit a small machine.
constexpr const char *default_shapes =
    "dblp:1,kosarak:1,enron:1,bms:1,livejournal:0.2,twitter:0.2,aol:0.3,orkut:0.05";
constexpr double growth_scales[] = {0.125, 0.25, 0.5, 1, 2};

std::vector<std::string> split(const std::string &list) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= list.size();) {
    const size_t end = std::min(list.find(',', start), list.size());
    if (end > start) parts.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  if (parts.empty()) throw std::invalid_argument("an empty list");
  return parts;
}

std::string quoted(const std::string &text) {
  std::string result(1, '"');
  result.append(text).push_back('"');
  return result;
}

double number(const std::string &text) {
  size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::logic_error &) {
    used = 0;
  }
  if (used == 0 || used != text.size()) throw std::invalid_argument(quoted(text) + " is not a number");
  return value;
}

template <class Names>
size_t index_of(const Names &names, const std::string &name) {
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found != std::end(names)) return static_cast<size_t>(found - std::begin(names));
  std::string all;
  for (const auto &known : names) all.append(" ").append(known);
  throw std::invalid_argument(quoted(name) + " is none of" + all);
}

ShapeChoice shape(const std::string &text) {
  const size_t colon = text.find(':');
  const Profile *profile = find_profile(text.substr(0, colon));
  if (profile == nullptr) throw std::invalid_argument("no profile in " + quoted(text));
  return {profile, colon == std::string::npos ? 1.0 : number(text.substr(colon + 1))};
}

std::vector<ShapeChoice> shapes(const std::string &list) {
  std::vector<ShapeChoice> choices;
  for (const std::string &part : split(list)) choices.push_back(shape(part));
  return choices;
}

// The same shape at growing numbers of sets.
std::vector<ShapeChoice> growth(const std::string &text) {
  const ShapeChoice largest = shape(text);
  std::vector<ShapeChoice> choices;
  for (double scale : growth_scales) choices.push_back({largest.profile, scale * largest.scale});
  return choices;
}

using Setter = std::function<void(Options &, const std::string &)>;

std::map<std::string, Setter> setters() {
  std::map<std::string, Setter> all;
  all["--shapes"] = [](Options &o, const std::string &v) { o.shapes = shapes(v); };
  all["--growth"] = [](Options &o, const std::string &v) { o.shapes = growth(v); };
  all["--sets"] = [](Options &o, const std::string &v) {
    o.sets.clear();
    for (const std::string &part : split(v)) {
      const double sets = number(part);
      if (!(sets >= 1)) throw std::invalid_argument(quoted(part) + " is no number of sets");
      o.sets.push_back(static_cast<size_t>(sets));
    }
  };
  all["--thresholds"] = [](Options &o, const std::string &v) {
    o.thresholds.clear();
    for (const std::string &part : split(v)) o.thresholds.push_back(number(part));
  };
  all["--algorithms"] = [](Options &o, const std::string &v) {
    o.algorithms.clear();
    for (const auto &part : split(v)) {
      o.algorithms.push_back(static_cast<Algorithm>(index_of(algorithm_names, part)));
      if (needs_gpu(o.algorithms.back())) throw std::invalid_argument(part + " runs on a GPU");
    }
  };
  all["--measures"] = [](Options &o, const std::string &v) {
    o.measures.clear();
    for (const auto &part : split(v))
      o.measures.push_back(static_cast<Measure>(index_of(measure_names, part)));
  };
  all["--threads"] = [](Options &o, const std::string &v) {
    o.threads.clear();
    for (const std::string &part : split(v)) o.threads.push_back(static_cast<int>(number(part)));
  };
  all["--time-limit"] = [](Options &o, const std::string &v) { o.time_limit_s = number(v); };
  all["--repeats"] = [](Options &o, const std::string &v) {
    o.repeats = std::max(1, static_cast<int>(number(v)));
  };
  all["--seed"] = [](Options &o, const std::string &v) { o.seed = static_cast<uint64_t>(number(v)); };
  all["--memory-limit"] = [](Options &o, const std::string &v) {
    o.memory_limit = static_cast<size_t>(number(v) * 1024 * 1024);
  };
  all["--memory-share"] = [](Options &o, const std::string &v) { o.memory_share = number(v); };
  all["--csv"] = [](Options &o, const std::string &v) { o.csv_file = v; };
  all["--baseline"] = [](Options &o, const std::string &v) { o.baseline_file = v; };
  all["--own"] = [](Options &o, const std::string &v) { o.own_file = v; };
  return all;
}

}  // namespace

Options parse_options(int argc, char **argv) {
  Options options;
  options.shapes = shapes(default_shapes);
  const std::map<std::string, Setter> known = setters();
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help") {
      options.help = true;
      continue;
    }
    if (name == "--reasons") {
      options.reasons = true;
      continue;
    }
    if (name == "--shuffled") {
      options.shuffled = true;
      continue;
    }
    const auto setter = known.find(name);
    if (setter == known.end()) throw std::invalid_argument("unknown option " + name);
    if (i + 1 == argc) throw std::invalid_argument(name + " needs a value");
    try {
      setter->second(options, argv[++i]);
    } catch (const std::invalid_argument &error) {
      throw std::invalid_argument(name + ": " + error.what());
    }
  }
  return options;
}

std::string usage() {
  return std::string(
             "usage: simjoin_bench [OPTION VALUE]...\n"
             "Times self-joins of synthetic collections and prints a table.\n"
             "  --shapes LIST        PROFILE[:SCALE],... (") +
         default_shapes +
         ")\n"
         "  --growth SHAPE       one shape at 1/8, 1/4, 1/2, 1 and 2 times its number of sets\n"
         "  --sets LIST          joins so many sets of each collection, evenly spread over it (all)\n"
         "  --thresholds LIST    (0.9,0.8,0.7,0.5)\n"
         "  --algorithms LIST    (allpairs,ppjoin,groupjoin,bitmap,auto)\n"
         "  --measures LIST      (jaccard)\n"
         "  --threads LIST       (0: one for each core)\n"
         "  --time-limit S       seconds after which a join is cancelled (60)\n"
         "  --repeats N          runs of each join, of which the fastest counts (1)\n"
         "  --seed N             of the collections (1)\n"
         "  --shuffled           tokens are numbered and sets ordered at random, not by frequency and size\n"
         "  --memory-limit MB    the engine's memory limit (8192)\n"
         "  --memory-share X     each join also within this part of the arrays' bytes, e.g. 0.1: out of "
         "core\n"
         "  --csv FILE           writes all figures there too\n"
         "  --baseline FILE      times of published programs (baseline.csv)\n"
         "  --own FILE           the --csv file of an earlier run to compare with (own.csv)\n"
         "  --reasons            prints why auto chose what it chose, with its estimates\n";
}

}  // namespace simjoin::bench
