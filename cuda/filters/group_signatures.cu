#include "cuda/filters/group_signatures.hpp"

#include "cuda/base/launch.cuh"

namespace simjoin::gpu {
namespace {

constexpr uint32_t half_words = step_words / 2;

// One thread for half a step of a group.
__global__ void unite_members(const SignatureView members, uint32_t group, uint32_t groups, uint32_t *words) {
  const uint32_t steps = members.steps;
  SIMJOIN_GRID_STRIDE(i, uint64_t{groups} * steps * 2) {
    const uint64_t number = i / (steps * 2);
    const auto step = static_cast<uint32_t>(i / 2 % steps), first = static_cast<uint32_t>(i % 2) * half_words;
    uint4 all = {0, 0, 0, 0};
    for (uint64_t set = number * group; set < min((number + 1) * group, uint64_t{members.sets}); ++set) {
      const uint4 one = *reinterpret_cast<const uint4 *>(members.words + signature_row(set, steps, step) +
                                                         word_in_row(set, first));
      all = {all.x | one.x, all.y | one.y, all.z | one.z, all.w | one.w};
    }
    *reinterpret_cast<uint4 *>(words + signature_row(number, steps, step) + word_in_row(number, first)) = all;
  }
}

__global__ void sum_up_groups(const SignatureView members, uint32_t group, uint64_t blocks,
                              uint32_t *block_excess, uint32_t *block_size) {
  const uint64_t member_blocks = (uint64_t{members.sets} + signature_block - 1) / signature_block;
  SIMJOIN_GRID_STRIDE(block, blocks) {
    uint32_t most = 0;
    for (uint64_t i = block * group; i < min((block + 1) * group, member_blocks); ++i) {
      most = max(most, members.block_excess[i]);
    }
    block_excess[block] = most;
    block_size[block] = block * group < member_blocks ? members.block_size[block * group] : 0;
  }
}

// Returns the members of a part of a group.
uint32_t part_of(uint32_t group) {
  return group > 4 && group % 4 == 0 ? 4 : 1;
}

}  // namespace

DeviceGroupTable::DeviceGroupTable(Device &device, const SignatureView &members, uint32_t group)
    : groups_((members.sets + group - 1) / group), steps_(members.steps) {
  const uint64_t padded = padded_signatures(groups_), blocks = padded / signature_block;
  words_ = DeviceBuffer<uint32_t>(device, padded * steps_ * step_words);
  block_excess_ = DeviceBuffer<uint32_t>(device, blocks);
  block_size_ = DeviceBuffer<uint32_t>(device, blocks);
  words_.fill(0);
  launch(device, unite_members, blocks_for(device, uint64_t{groups_} * steps_ * 2), members, group, groups_,
         words_.data());
  launch(device, sum_up_groups, blocks_for(device, blocks), members, group, blocks, block_excess_.data(),
         block_size_.data());
}

GroupTables::GroupTables(Device &device, const SignatureView &members, uint32_t group)
    : members_(members),
      part_(part_of(group)),
      parts_(part_ > 1 ? std::optional<DeviceGroupTable>(std::in_place, device, members, part_)
                       : std::nullopt),
      groups_(device, parts(), group / part_) {}

}  // namespace simjoin::gpu
