#include "cuda/clusters/cluster_pool.cuh"

namespace simjoin::gpu {
namespace {

// Bytes of one copy. Pageable memory is copied at some 10 GB/s, so a piece takes 6 ms.
constexpr size_t bytes_per_piece = size_t{64} << 20;
// Centroids staged between two checks of the stop flag: some 0.2 ms.
constexpr size_t centroids_per_look = 4096;
constexpr uint64_t stays = UINT64_MAX;
// Added to the end of all regions if one of them would be too long.
constexpr uint64_t no_end = uint64_t{1} << 63;

template <typename Element>
void copy_in_pieces(Device &device, Element *to, const Element *from, size_t count, const StopFlag &stop) {
  constexpr size_t piece = bytes_per_piece / sizeof(Element);
  for (size_t begin = 0; begin < count; begin += piece) {
    stop.check();
    copy_to_device(device, to + begin, from + begin, std::min(piece, count - begin));
    device.synchronize();
  }
}

// One warp per centroid.
__global__ void place_centroids(const uint32_t *clusters, const PoolRegion *new_regions, const uint64_t *ends,
                                const TermWeight *terms, uint64_t count, PoolRegion *regions,
                                TermWeight *elements) {
  const uint32_t lane = threadIdx.x % warp_threads;
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t i = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads; i < count; i += warps) {
    const PoolRegion region = new_regions[i];
    if (lane == 0) regions[clusters[i]] = region;
    for (uint32_t j = lane; j < region.size; j += warp_threads)
      elements[region.start + j] = terms[ends[i] - region.size + j];
  }
}

// Writes the postings of the clusters' terms, with clusters in any order. One warp per cluster.
__global__ void list_terms(const PoolRegion *centroids, uint64_t clusters, const TermWeight *terms,
                           ClusterPosting *postings, unsigned long long *written) {
  const uint32_t lane = threadIdx.x % warp_threads;
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t cluster = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads; cluster < clusters;
       cluster += warps) {
    const PoolRegion centroid = centroids[cluster];
    unsigned long long begin = 0;
    if (lane == 0) begin = atomicAdd(written, static_cast<unsigned long long>(centroid.size));
    begin = __shfl_sync(0xFFFFFFFFu, begin, 0);
    for (uint32_t i = lane; i < centroid.size; i += warp_threads)
      postings[begin + i] = {terms[centroid.start + i].term, static_cast<uint32_t>(cluster)};
  }
}

__global__ void order_postings(const ClusterPosting *postings, uint64_t count, uint32_t *added,
                               uint32_t *orders) {
  SIMJOIN_GRID_STRIDE(i, count) orders[i] = atomicAdd(&added[postings[i].term], 1u);
}

// The first posting of each term reserves a new place for its list if the list outgrows its old one.
__global__ void find_places(const ClusterPosting *postings, uint64_t count, const uint32_t *added,
                            const uint32_t *orders, const PoolRegion *lists, uint64_t *starts,
                            unsigned long long *end) {
  SIMJOIN_GRID_STRIDE(i, count) {
    starts[i] = stays;
    if (orders[i] != 0) continue;
    const PoolRegion list = lists[postings[i].term];
    const uint64_t size = uint64_t{list.size} + added[postings[i].term];
    if (size <= list.capacity) continue;
    const uint32_t capacity = capacity_for(size);
    if (capacity == 0) {
      atomicOr(end, static_cast<unsigned long long>(no_end));
    } else {
      starts[i] = atomicAdd(end, static_cast<unsigned long long>(capacity));
    }
  }
}

// One warp per posting.
__global__ void move_lists(const ClusterPosting *postings, uint64_t count, const uint32_t *added,
                           const uint64_t *starts, PoolRegion *lists, uint32_t *clusters) {
  const uint32_t lane = threadIdx.x % warp_threads;
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t i = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads; i < count; i += warps) {
    if (starts[i] == stays) continue;
    PoolRegion &list = lists[postings[i].term];
    const PoolRegion old = list;
    for (uint32_t j = lane; j < old.size; j += warp_threads)
      clusters[starts[i] + j] = clusters[old.start + j];
    __syncwarp();
    if (lane > 0) continue;
    list = {starts[i], old.size, capacity_for(uint64_t{old.size} + added[postings[i].term])};
  }
}

__global__ void write_postings(const ClusterPosting *postings, uint64_t count, const uint32_t *orders,
                               const PoolRegion *lists, uint32_t *clusters) {
  SIMJOIN_GRID_STRIDE(i, count) {
    const PoolRegion &list = lists[postings[i].term];
    clusters[list.start + list.size + orders[i]] = postings[i].cluster;
  }
}

__global__ void end_append(const ClusterPosting *postings, uint64_t count, const uint32_t *orders,
                           uint32_t *added, PoolRegion *lists) {
  SIMJOIN_GRID_STRIDE(i, count) {
    if (orders[i] != 0) continue;
    lists[postings[i].term].size += added[postings[i].term];
    added[postings[i].term] = 0;
  }
}

}  // namespace

void DeviceCentroids::load(Device &device, const RegionPool<TermWeight> &pool, const StopFlag &stop) {
  pool_.make_room(device, pool.keys(), pool.elements().size());
  for (size_t i = 0; i < pool.keys(); ++i) longest_ = std::max(longest_, pool.region(i).size);
  copy_in_pieces(device, pool_.regions(), pool.regions().data(), pool.keys(), stop);
  copy_in_pieces(device, pool_.elements(), pool.elements().data(), pool.elements().size(), stop);
}

void DeviceCentroids::update(Device &device, const RegionPool<TermWeight> &pool,
                             std::span<const uint32_t> clusters, const StopFlag &stop) {
  pool_.make_room(device, pool.keys(), pool.elements().size());
  if (clusters.empty()) return;
  size_t count = 0;
  for (const uint32_t cluster : clusters) count += pool.region(cluster).size;
  PoolRegion *regions = regions_.reserve(device, clusters.size());
  uint64_t *ends = ends_.reserve(device, clusters.size());
  TermWeight *terms = terms_.reserve(device, count), *to = terms;
  for (size_t i = 0; i < clusters.size(); ++i) {
    if (i % centroids_per_look == 0) stop.check();
    const std::span<const TermWeight> centroid = pool[clusters[i]];
    to = std::copy(centroid.begin(), centroid.end(), to);
    regions[i] = pool.region(clusters[i]);
    longest_ = std::max(longest_, regions[i].size);
    ends[i] = static_cast<uint64_t>(to - terms);
  }
  clusters_.upload(device, clusters);
  regions_.upload(device, clusters.size());
  ends_.upload(device, clusters.size());
  terms_.upload(device, count);
  launch(device, place_centroids, blocks_for(device, clusters.size(), warp_threads), clusters_.data(),
         regions_.data(), ends_.data(), terms_.data(), uint64_t{clusters.size()}, pool_.regions(),
         pool_.elements());
}

void DeviceLists::append(Device &device, std::span<const ClusterPosting> postings, uint32_t term_end) {
  postings_.upload(device, postings);
  append(device, postings_.data(), postings.size(), term_end);
}

void DeviceLists::make(Device &device, const DevicePool<TermWeight> &centroids, size_t postings,
                       uint32_t term_end) {
  pool_.clear();
  if (!end_.empty()) end_.fill(0);
  DeviceBuffer<ClusterPosting> listed(device, postings);
  DeviceBuffer<unsigned long long> written(device, 1);
  written.fill(0);
  launch(device, list_terms, blocks_for(device, centroids.keys(), warp_threads), centroids.regions(),
         uint64_t{centroids.keys()}, centroids.elements(), listed.data(), written.data());
  append(device, listed.data(), postings, term_end);
}

void DeviceLists::append(Device &device, const ClusterPosting *postings, size_t count, uint32_t term_end) {
  if (end_.empty()) {
    end_ = DeviceBuffer<uint64_t>(device, 1);
    end_.fill(0);
  }
  pool_.make_room(device, term_end, pool_.used());
  grow_with_zeros(device, added_, term_end, 0);
  if (count == 0) return;
  grow(device, orders_, count, 0);
  grow(device, starts_, count, 0);
  const unsigned blocks = blocks_for(device, count);
  launch(device, order_postings, blocks, postings, uint64_t{count}, added_.data(), orders_.data());
  launch(device, find_places, blocks, postings, uint64_t{count}, added_.data(), orders_.data(),
         pool_.regions(), starts_.data(), reinterpret_cast<unsigned long long *>(end_.data()));
  const uint64_t end = read_value(device, end_.data());
  if ((end & no_end) != 0) throw_region_too_long();
  pool_.make_room(device, term_end, end);
  launch(device, move_lists, blocks_for(device, count, warp_threads), postings, uint64_t{count},
         added_.data(), starts_.data(), pool_.regions(), pool_.elements());
  launch(device, write_postings, blocks, postings, uint64_t{count}, orders_.data(), pool_.regions(),
         pool_.elements());
  launch(device, end_append, blocks, postings, uint64_t{count}, orders_.data(), added_.data(),
         pool_.regions());
}

}  // namespace simjoin::gpu
