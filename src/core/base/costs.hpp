// The costs of work, for every choice between two ways to do it. A cost is in nanoseconds of one thread or of
// one GPU unless its name says milliseconds. Only choices depend on these figures, never answers. Each table
// names the machine and the data that it was measured on. test/unit/choice_test.cpp has the choices that
// follow. Costs for the planner, in units of cpu_operator_cost, are in pg/join/plan/cost. Figures by which
// only kernels choose are in cuda/base/tuning.hpp.
#pragma once

#include <iterator>

namespace simjoin::costs {

// Candidates of a join on the CPU. Only the proportions matter. They were adjusted until the choice was right
// on the eight generated collections of test/bench at thresholds 0.5 to 0.9 (test/bench/README.md,
// "Calibration"), on a Cascade Lake (AVX-512BW, 2.5 GHz).
namespace candidates {
inline constexpr double equal_probe = 30;      // a probe that only equal sets match
inline constexpr double sweep_token = 50;      // a token looked up list by list
inline constexpr double signed_posting = 0.8;  // a posting that its signature rules out
inline constexpr double near_posting = 10;     // a posting that its signature does not rule out
// The verification of a new candidate pair, for each token of the probe.
inline constexpr double near_token = 0.5;
inline constexpr double unit_probe = 150;  // a probe looked up by itself, whatever its lists
// A token of such a probe: finding its list, and the part of the list for the sizes.
inline constexpr double unit_token = 60;
inline constexpr double unit_posting = 12;  // a posting counted, and verified if the count suffices
inline constexpr double index_token = 20;   // putting a token of a prefix into the index
inline constexpr double sign_posting = 30;  // putting a posting with a signature into the index
inline constexpr double parity_token =
    1.2;                                 // a token of a set whose signature is made for postings or a sweep
inline constexpr double sign_token = 2;  // putting a token into a bitmap
// A pair of bitmaps of 1, 2, 4, ... 256 words.
inline constexpr double bitmap_pair[] = {0.6, 0.75, 1, 1.6, 3.2, 5.5, 11, 21, 46};
inline constexpr double verify_pair = 100;   // a candidate pair that fails, of any size
inline constexpr double verify_token = 0.2;  // for each token of the two sets
// A whole join through the prefix index that takes less than this is not worth a choice.
inline constexpr double worth_choosing = 4e6;
}  // namespace candidates

// A join with a small side, by 1,000,000 titles of 56 shingles and 1,000,000 skewed sets of 20 integers
// against 100 to 10,000 others, on two cores of an AMD EPYC.
namespace streaming {
inline constexpr double posting = 2;        // its signature is compared
inline constexpr double candidate = 25;     // a posting whose set has its wide signature compared
inline constexpr double ranked_token = 30;  // the other way: a token is counted, ranked and sorted
}  // namespace streaming

// The first use of a GPU in a process: context, memory pool, page-locked memory (H200, driver 580).
inline constexpr double gpu_start_ms = 400;
// Moving a byte through page-locked memory and over PCIe, in either direction (H200).
inline constexpr double gpu_byte = 0.1;
// What a byte takes more if the GPU service computes: through its socket, in either direction.
inline constexpr double service_byte = 0.6;

// A whole join on the CPU. cpu_token and cpu_set are the costs on the thread that adds sets, cpu_token_work
// is the cost of a token on all threads. cpu_pair_work is the cost of a pair of sets of `full_size` tokens at
// a threshold near 0 on all threads. It falls with the square of the size and of 1 - threshold.
//
// Fitted by test/bench/fit_devices to joins of 1,000 to 3,000,000 sets of the shapes dblp, kosarak, bms,
// enron, livejournal, twitter and aol at 0.9, 0.7 and 0.5, on 16 and on 4 threads beside an H200. Joins for
// which all these figures are equal differ in time by a factor of ten: the fit is for the choice of the
// device. cpu_join is less than fitted, so that tiny joins stay on the CPU. cpu_pair_work is more than fitted
// (1.4), since a long join that stays on the CPU loses more than the start of a GPU. An example is 80,000
// sets of 60 of 4,000 tokens at 0.6: they take one thread 2.7 s, where 1.4 would promise less than the 0.4 s
// of the start.
namespace join {
inline constexpr double cpu_join = 8.3e5;
inline constexpr double cpu_token = 11;
inline constexpr double cpu_set = 35;
inline constexpr double cpu_token_work = 1.1;
inline constexpr double cpu_pair_work = 1.8;
inline constexpr double full_size = 88;
// The same joins, and some of up to 10,000,000 sets, on that GPU. Uploads are included, the start of the GPU
// is not.
inline constexpr double gpu_join = 9.2e5;
inline constexpr double gpu_token = 1.1;
inline constexpr double gpu_set = 5.7;
inline constexpr double gpu_pair = 1.8e-4;
// Several GPUs share the comparisons if they promise to save this. Two H100 take 18 instead of 26 ms for
// dblp1m at 0.5.
inline constexpr double least_saving_ms = 4;
}  // namespace join

// Joins of sets with weights: a candidate pair, and for each token of an average set. On the GPU also uploads
// and the index, for each token. By test/gpu/weighted_bench with 100,000 and 1,000,000 documents of 55 terms,
// on 16 threads and an H100.
namespace weighted {
inline constexpr double cpu_pair = 40;
inline constexpr double cpu_pair_token = 4;
inline constexpr double gpu_join_ms = 3;
inline constexpr double gpu_token = 1;
inline constexpr double gpu_pair_token = 0.0075;
}  // namespace weighted

// Graphs: random graphs and R-MAT graphs of 0.1 to 20 million nodes, on two cores of a Cascade Lake, and on
// an H200 with 16 cores, its transfers included.
namespace graph {
inline constexpr double cpu_component = 60;  // an edge
inline constexpr double cpu_build = 120;     // an edge in adjacency lists
inline constexpr double cpu_sum = 6;         // an edge in a sum over neighbors
inline constexpr double cpu_step = 25;       // a step of a walk
inline constexpr double gpu_edge = 1.5;      // an edge, from the host to adjacency lists
inline constexpr double gpu_sum = 0.02;
inline constexpr double gpu_step = 0.07;
inline constexpr double gpu_call_ms = 5;  // staging buffers and launches of a call
}  // namespace graph

// MinHash, one thread (Cascade Lake at 2.5 GHz, AVX-512) and a GPU (H200).
namespace minhash {
inline constexpr double cpu_evaluation = 0.2;  // one hash function for one token
inline constexpr double cpu_sample = 8;        // one sample of weighted MinHash for one token
inline constexpr double gpu_round_ms = 0.2;    // the launches of a round
}  // namespace minhash

// FlyHash, on one thread with AVX-512 of a busy Cascade Lake at 2.5 GHz and on an H200. The vectors were of
// 784 values to 25,088 rows and of 3,072 values to 24,576 rows.
namespace flyhash {
inline constexpr double cpu_level = 0.045;      // adding a level
inline constexpr double cpu_activation = 1.1;   // comparing an activation
inline constexpr double cpu_position = 15;      // drawing a position
inline constexpr double gpu_product = 6e-6;     // a multiplication of the dense product
inline constexpr double gpu_activation = 4e-6;  // selecting from the activations, for each
inline constexpr double gpu_round_ms = 0.5;     // a round of any size
}  // namespace flyhash

}  // namespace simjoin::costs
