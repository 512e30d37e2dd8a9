#include "pg/base/settings.hpp"

extern "C" {
#include "utils/float.h"
}

#include <array>
#include <climits>
#include <utility>

#include "core/base/memory_budget.hpp"
#include "core/base/memory_shares.hpp"
#include "core/base/thread_budget.hpp"
#include "core/base/worker_pool.hpp"
#include "core/minhash/minhash.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/compat_settings.hpp"
#include "pg/base/distributed.hpp"

namespace simjoin::pg {

namespace {

constexpr int least_memory_limit_kb = 1024;
constexpr int most_cpu_threads = 1024;
constexpr int most_server_threads = 1000000;
constexpr int most_gpus = 64;
constexpr int longest_gpu_idle_timeout_s = 24 * 60 * 60;
// The largest number of tokens that two sets can share; the other measures end at 1.
constexpr double largest_threshold = INT_MAX;

// Returns the entries of an enum setting whose values are the positions of their names.
template <size_t n, size_t... i>
constexpr std::array<config_enum_entry, sizeof...(i) + 1> enum_entries(const std::string_view (&names)[n],
                                                                       std::index_sequence<i...>) {
  return {config_enum_entry{names[i].data(), static_cast<int>(i), false}...,
          config_enum_entry{nullptr, 0, false}};
}
template <size_t n>
constexpr auto enum_entries(const std::string_view (&names)[n]) {
  return enum_entries(names, std::make_index_sequence<n>());
}

// Memory is either no number or enough for a computation.
bool check_memory(int *value, void **, GucSource) {
  if (*value == 0 || *value >= least_memory_limit_kb) return true;
  GUC_check_errhint("It is 0 or at least 1MB.");
  return false;
}

void assign_max_server_memory(int value, void *) {
  set_server_memory(size_t{1024} * static_cast<size_t>(value));
}

void assign_max_server_threads(int value, void *) {
  set_thread_limit(value == 0 ? 2 * thread_count(0) : value);
}

constexpr auto algorithm_entries = enum_entries(algorithm_names);
constexpr auto device_entries = enum_entries(device_names);
// PostgreSQL may exchange the sides of ~=.
constexpr auto measure_entries = enum_entries(measure_names, std::make_index_sequence<symmetric_measures>());
constexpr auto device_loss_entries = enum_entries(device_loss_names);
constexpr auto method_entries = enum_entries(method_names);

}  // namespace

void Settings::define_join_settings() {
  DefineCustomBoolVariable("simjoin.enable_join", "Sets the planner's use of the similarity join operator.",
                           "With off, a join on a similarity is a nested loop.", &enable_join_, enable_join_,
                           PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomBoolVariable("simjoin.enable_nearest", "Sets the planner's use of the scan for nearest rows.",
                           "With off, a query for the nearest rows of each row sorts all rows for each.",
                           &enable_nearest_, enable_nearest_, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr,
                           nullptr);
  DefineCustomRealVariable(
      "simjoin.notice_pairs", "Sets from how many pairs on a plan without the join operator raises a notice.",
      "They are the estimated pairs of rows whose similarity is computed one after the other. With 0, no "
      "plan does.",
      &notice_pairs_, notice_pairs_, 0, 1e300, PGC_USERSET, 0, nullptr, nullptr, nullptr);
  DefineCustomEnumVariable("simjoin.algorithm", "Sets the algorithm of similarity joins.",
                           "Every algorithm gives the same rows; auto chooses by the sets to be joined.",
                           &algorithm_, algorithm_, algorithm_entries.data(), PGC_USERSET, GUC_EXPLAIN,
                           nullptr, nullptr, nullptr);
  DefineCustomIntVariable("simjoin.memory_limit", "Sets the memory that one computation may use.",
                          "Beyond it, rows and sets of a join go to temporary files; other computations that "
                          "need more are refused. With 0, a share of the memory that is there.",
                          &memory_limit_kb_, memory_limit_kb_, 0, MAX_KILOBYTES, PGC_USERSET,
                          GUC_UNIT_KB | GUC_EXPLAIN, check_memory, nullptr, nullptr);
  DefineCustomIntVariable(
      "simjoin.input_cache", "Sets the memory that a session may use to keep the inputs of its joins.",
      "A join reads a table from there while the table is unchanged. With 0, none is kept.", &input_cache_kb_,
      input_cache_kb_, 0, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB | GUC_EXPLAIN, nullptr, assign_input_cache,
      nullptr);
  DefineCustomIntVariable("simjoin.cpu_threads", "Sets the number of threads of one similarity join.",
                          "With 0, one per core.", &cpu_threads_, cpu_threads_, 0, most_cpu_threads,
                          PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("simjoin.progress_interval",
                          "Sets how often a notice says how far a computation is.", "With 0, never.",
                          &progress_interval_ms_, progress_interval_ms_, 0, INT_MAX, PGC_USERSET, GUC_UNIT_MS,
                          nullptr, nullptr, nullptr);
  DefineCustomIntVariable(
      "simjoin.log_min_duration", "Sets how long a computation takes before the server's log names it.",
      "With 0, all that run to their end are logged; with -1, none.", &log_min_duration_ms_,
      log_min_duration_ms_, -1, INT_MAX, PGC_SUSET, GUC_UNIT_MS, nullptr, nullptr, nullptr);
}

void Settings::define_device_settings() {
  DefineCustomEnumVariable(
      "simjoin.device", "Sets the device that similarity joins and other computations run on.",
      "auto uses a GPU if there is one and it is faster; with gpu, a join that cannot use "
      "one is an error.",
      &device_, device_, device_entries.data(), PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("simjoin.gpu_memory_limit", "Sets the GPU memory that one computation may use.",
                          "With 0, most of the free memory.", &gpu_memory_limit_kb_, gpu_memory_limit_kb_, 0,
                          MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB | GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("simjoin.gpus", "Sets the number of GPUs that may share one similarity join.",
                          "With 0, all there are. A join that is not large enough uses one.", &gpus_, gpus_,
                          0, most_gpus, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomIntVariable(
      "simjoin.gpu_idle_timeout", "Sets how long an idle session keeps its memory on the GPUs.",
      "After that, the next computation on a GPU sets it up again. With 0, until the session ends.",
      &gpu_idle_timeout_s_, gpu_idle_timeout_s_, 0, longest_gpu_idle_timeout_s, PGC_USERSET,
      GUC_UNIT_S | GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomBoolVariable("simjoin.explain_device", "Sets whether EXPLAIN shows what ran a similarity join.",
                           "With off, the output is the same on every machine.", &explain_device_,
                           explain_device_, PGC_USERSET, 0, nullptr, nullptr, nullptr);
  DefineCustomIntVariable(
      "simjoin.debug_device_fault", "Sets which device call of each similarity join fails, for tests.",
      "The call fails as if memory had run out, with a negative number as if a kernel had failed.",
      &debug_device_fault_, debug_device_fault_, -INT_MAX, INT_MAX, PGC_SUSET, GUC_NOT_IN_SAMPLE, nullptr,
      nullptr, nullptr);
  DefineCustomEnumVariable("simjoin.debug_device_loss",
                           "Sets how the devices of a similarity join are lost, for tests.",
                           "The loss begins with the call of simjoin.debug_device_fault, or with the first.",
                           &debug_device_loss_, debug_device_loss_, device_loss_entries.data(), PGC_SUSET,
                           GUC_NOT_IN_SAMPLE, nullptr, nullptr, nullptr);
}

void Settings::define_minhash_settings() {
  DefineCustomEnumVariable(
      "simjoin.method", "Sets how the similarity join operator finds pairs.",
      "With minhash, inner and semi joins find the candidates by MinHash, and miss some pairs.", &method_,
      method_, method_entries.data(), PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomRealVariable(
      "simjoin.target_recall", "Sets the share of pairs that similarity joins by MinHash find.",
      "The share of the pairs exactly on the threshold; a larger share of more similar pairs is found.",
      &target_recall_, target_recall_, 0.0, 1.0, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomIntVariable(
      "simjoin.minhash_permutations", "Sets the signature length of similarity joins by MinHash.", nullptr,
      &minhash_permutations_, minhash_permutations_, 1, static_cast<int>(max_permutations), PGC_USERSET,
      GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("simjoin.minhash_seed", "Sets the seed of similarity joins by MinHash.",
                          "It decides which pairs are missed.", &minhash_seed_, minhash_seed_, INT_MIN,
                          INT_MAX, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomIntVariable(
      "simjoin.max_bucket_size", "Sets the most rows of a bucket that are compared with each other.",
      "The rows of a larger bucket are compared only with its first row.", &max_bucket_size_,
      max_bucket_size_, 1, INT_MAX, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
}

void Settings::define_operator_settings() {
  DefineCustomEnumVariable("simjoin.measure", "Sets the similarity measure of the operator ~=.", nullptr,
                           &measure_, measure_, measure_entries.data(), PGC_USERSET, GUC_EXPLAIN, nullptr,
                           nullptr, nullptr);
  DefineCustomRealVariable("simjoin.similarity_threshold",
                           "Sets the least similarity for which the operator ~= is true.",
                           "A similarity is at most 1; with the measure overlap, it is a number of tokens.",
                           &similarity_threshold_, similarity_threshold_, 0.0, largest_threshold, PGC_USERSET,
                           GUC_EXPLAIN, nullptr, nullptr, nullptr);
}

void Settings::define_caps() {
  DefineCustomIntVariable(
      "simjoin.max_memory", "Sets the most memory that simjoin.memory_limit or simjoin.input_cache can give.",
      "With 0, there is no such limit.", &max_memory_kb_, max_memory_kb_, 0, MAX_KILOBYTES, PGC_SUSET,
      GUC_UNIT_KB | GUC_EXPLAIN, check_memory, assign_max_memory, nullptr);
  DefineCustomIntVariable("simjoin.max_threads", "Sets the most threads that simjoin.cpu_threads can give.",
                          "With 0, there is no such limit.", &max_threads_, max_threads_, 0, most_cpu_threads,
                          PGC_SUSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("simjoin.max_gpu_memory",
                          "Sets the most GPU memory that simjoin.gpu_memory_limit can give.",
                          "With 0, there is no such limit.", &max_gpu_memory_kb_, max_gpu_memory_kb_, 0,
                          MAX_KILOBYTES, PGC_SUSET, GUC_UNIT_KB | GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("simjoin.max_server_threads",
                          "Sets the most threads that the computations of all sessions have together.",
                          "With 0, two for each core. It takes effect where simjoin is preloaded.",
                          &max_server_threads_, max_server_threads_, 0, most_server_threads, PGC_SIGHUP, 0,
                          nullptr, assign_max_server_threads, nullptr);
  DefineCustomIntVariable("simjoin.max_server_memory",
                          "Sets the most memory that the computations of all sessions draw together.",
                          "They draw where simjoin.memory_limit is 0. With 0, as much as the system has. "
                          "Sessions share it where simjoin is preloaded.",
                          &max_server_memory_kb_, max_server_memory_kb_, 0, MAX_KILOBYTES, PGC_SIGHUP,
                          GUC_UNIT_KB, check_memory, assign_max_server_memory, nullptr);
}

Settings::OfOperator Settings::of_operator() {
  if (runs_for_coordinator() && !(compat::is_set_by_session("simjoin.measure") &&
                                  compat::is_set_by_session("simjoin.similarity_threshold")))
    ereport(
        ERROR,
        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
         errmsg("the operator ~= does not know by what to compare on a worker of Citus"),
         errdetail(
             "simjoin.measure and simjoin.similarity_threshold are settings of the session, which Citus does "
             "not send along."),
         errhint("Write jaccard_similarity(l, r) >= 0.7. Or, in a transaction, SET LOCAL "
                 "citus.propagate_set_commands TO 'local' and then SET LOCAL both settings.")));
  if (similarity_threshold() > largest_similarity(measure()))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("the operator ~= is true for no sets: simjoin.similarity_threshold is %s, and "
                           "simjoin.measure is %s",
                           float8out_internal(similarity_threshold()), measure_name(measure()).data()),
                    errhint("With this measure the threshold is a number from 0 to 1: for 80 percent SET "
                            "simjoin.similarity_threshold = 0.8. With the measure overlap it is a number of "
                            "tokens.")));
  return {measure(), similarity_threshold()};
}

int Settings::cpu_threads() {
  if (max_threads_ == 0) return cpu_threads_;
  // One thread for each core, if these are fewer.
  return capped(cpu_threads_ == 0 ? thread_count(0) : cpu_threads_, max_threads_);
}

void Settings::assign_input_cache(int value, void *) {
  shrink_input_cache_(size_t{1024} * static_cast<size_t>(value));
}

void Settings::assign_max_memory(int value, void *) {
  if (value != 0) shrink_input_cache_(size_t{1024} * static_cast<size_t>(value));
}

void Settings::define(void (*shrink_input_cache)(size_t)) {
  shrink_input_cache_ = shrink_input_cache;
  define_join_settings();
  define_device_settings();
  define_operator_settings();
  define_minhash_settings();
  define_caps();
  compat::reserve_setting_prefix("simjoin");
}

JoinSpec spec_from_settings(Measure measure, double threshold, size_t memory_limit) {
  JoinSpec spec;
  spec.measure = measure;
  spec.threshold = threshold;
  Settings::set_resources(&spec);
  spec.algorithm = Settings::algorithm();
  spec.memory_limit = engine_share(memory_limit);
  spec.gpus = Settings::gpus();
  return spec;
}

}  // namespace simjoin::pg
