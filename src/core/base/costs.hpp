// What work takes, for every choice between two ways to do it: nanoseconds unless a name says milliseconds,
// of one thread or of one GPU. Only choices depend on these figures, never answers. Each table names the
// machine and the data that it was measured on; test/unit/choice_test.cpp has the choices that follow. What
// the planner assumes, in units of cpu_operator_cost, stands in pg/join/cost; what only kernels choose by, in
// cuda/base/tuning.hpp.
#pragma once

#include <iterator>

namespace simjoin::costs {

// Candidates of a join on the CPU. Only the proportions matter. They were adjusted until the choice was right
// on the eight generated collections of test/bench at thresholds 0.5 to 0.9 (test/bench/README.md,
// "Calibration"), on a Cascade Lake (AVX-512BW, 2.5 GHz).
namespace candidates {
inline constexpr double equal_probe = 30;      // a probe that only equal sets match
inline constexpr double sweep_token = 50;      // a token looked up list by list
inline constexpr double signed_posting = 0.8;  // passed over for its signature
inline constexpr double near_posting = 10;     // not passed over,
inline constexpr double near_token = 0.5;      // and verified where new: for each token of the probe
inline constexpr double unit_probe = 150;      // a probe looked up by itself, whatever its lists
inline constexpr double unit_token = 60;    // each of its tokens: finding a list and its part for the sizes
inline constexpr double unit_posting = 12;  // counted, and verified where it comes to that
inline constexpr double index_token = 20;   // putting a token of a prefix into the index
inline constexpr double sign_posting = 30;  // with a signature
inline constexpr double sign_token = 2;     // putting a token into a bitmap
// A pair of bitmaps of 1, 2, 4 ... 256 words.
inline constexpr double bitmap_pair[] = {0.6, 0.75, 1, 1.6, 3.2, 5.5, 11, 21, 46};
inline constexpr double verify_pair = 100;   // a pair that fails, whatever its size
inline constexpr double verify_token = 0.2;  // for each token of the two sets
// The least time of a whole join through the prefix index that is worth looking for a better way.
inline constexpr double worth_choosing = 4e6;
}  // namespace candidates

// A GPU that computes for the first time in a process: context, memory pool, page-locked memory (H200, driver
// 580).
inline constexpr double gpu_start_ms = 400;
// A byte into or out of page-locked memory and over PCIe (H200).
inline constexpr double gpu_byte = 0.1;

// A whole join: a token and a set on the thread that adds them, and a token on all threads; a pair of sets of
// `full_size` tokens at a threshold near 0 on all threads, falling with the square of the size and of 1 -
// threshold. Fitted by test/bench/fit_devices to joins of 1,000 to 3,000,000 sets of the shapes dblp,
// kosarak, bms, enron, livejournal, twitter and aol at 0.9, 0.7 and 0.5 on 16 and on 4 threads beside an
// H200. What joins take differs by a factor of ten where these are all equal: the fit is for the choice of
// the device. cpu_join is less than fitted, so that tiny joins stay on the CPU; cpu_pair_work is more than
// fitted (1.4), since a long join that stays on the CPU loses more than the start of a GPU: 80,000 sets of 60
// of 4,000 tokens take one thread 2.7 s at 0.6, where 1.4 would promise less than the 0.4 s of the start.
namespace join {
inline constexpr double cpu_join = 8.3e5;
inline constexpr double cpu_token = 11;
inline constexpr double cpu_set = 35;
inline constexpr double cpu_token_work = 1.1;
inline constexpr double cpu_pair_work = 1.8;
inline constexpr double full_size = 88;
// The same joins, and some of up to 10,000,000 sets, on that GPU, uploads included, in a process that it is
// set up for.
inline constexpr double gpu_join = 9.2e5;
inline constexpr double gpu_token = 1.1;
inline constexpr double gpu_set = 5.7;
inline constexpr double gpu_pair = 1.8e-4;
// What several GPUs have to promise to save: what sharing a join added to the time of dblp6m in uploads and
// builds, at 0.9, 0.8 and 0.7 on two H200, was 240 to 340 ms.
inline constexpr double least_saving_ms = 340;
}  // namespace join

// Graphs. Random graphs and R-MAT graphs of 0.1 to 20 million nodes; two cores of a Cascade Lake, an H200
// with 16 cores, its transfers included.
namespace graph {
inline constexpr double cpu_component = 60;  // an edge
inline constexpr double cpu_build = 120;     // an edge in adjacency lists
inline constexpr double cpu_sum = 6;         // an edge in a sum over neighbors
inline constexpr double cpu_step = 25;       // a step of a walk
inline constexpr double gpu_edge = 1.5;      // an edge, from the host to adjacency lists
inline constexpr double gpu_sum = 0.02;
inline constexpr double gpu_step = 0.07;
inline constexpr double gpu_call_ms = 5;  // staging buffers, launches
}  // namespace graph

// MinHash, one thread (Cascade Lake at 2.5 GHz, AVX-512) and a GPU (H200).
namespace minhash {
inline constexpr double cpu_evaluation = 0.2;  // of one hash function for one token
inline constexpr double cpu_sample = 8;        // of weighted MinHash, likewise
inline constexpr double gpu_round_ms = 0.2;    // the launches of a round
}  // namespace minhash

// FlyHash, one thread with AVX-512 of a busy Cascade Lake at 2.5 GHz and an H200, vectors of 784 values to
// 25,088 rows and of 3,072 to 24,576.
namespace flyhash {
inline constexpr double cpu_level = 0.045;      // a level added
inline constexpr double cpu_activation = 1.1;   // compared
inline constexpr double cpu_position = 15;      // drawn
inline constexpr double gpu_product = 6e-6;     // a multiplication of the dense product
inline constexpr double gpu_activation = 4e-6;  // selected from
inline constexpr double gpu_round_ms = 0.5;     // whatever is in it
}  // namespace flyhash

}  // namespace simjoin::costs
