// Signatures of groups of partners. A probe and a group share every bit that the probe shares with a member.
// If they share too few, no member is similar to the probe.
//
// By example, with a bit for each token: the probe has the bits 1 to 8, and a partner of its size needs all 8
// at 0.8. A group of four partners:
//   A {1, 2, 9 … 14}   B {1, 3, 9 … 14}   C {2, 4, 9 … 14}   D {1, 2, 9 … 14}
// Their union shares the bits 1 to 4 with the probe. 4 are fewer than 8: one comparison rules out four pairs.
// With D {3, 4, 5, 6, 7, 8, 9, 10} the union shares all 8, and the group passes. Its parts are looked at
// next: A or B share 1, 2, 3, and C or D share 2 to 8. Neither reaches 8, so no member is compared. Long sets
// fill the union, so that every group passes. A sample therefore chooses the size of groups for each band of
// sizes.
#pragma once

#include <cstdint>
#include <optional>

#include "cuda/base/device.hpp"
#include "cuda/filters/signatures.hpp"

namespace simjoin::gpu {

// Signatures that are compared in groups have this width. Wider ones cost less for each bit, because the
// counts are looked at once, but do not fit in shared memory.
inline constexpr uint32_t group_steps = 4;
// Their bits for the excess. On DBLP-shaped sets signatures of 1024 bits lose 0.3 tokens of 88.
inline constexpr uint32_t group_excess_bits = 12;
// The sizes of groups to choose from, the largest first.
inline constexpr uint32_t group_sizes[] = {32, 24, 16, 12, 8, 6, 4, 3, 2};

// A table of groups of `group` adjacent members, each with the bits of all of them.
class DeviceGroupTable {
 public:
  DeviceGroupTable(Device &device, const SignatureView &members, uint32_t group);

  // `excess` is null. A block's smallest size and largest excess are those of all members.
  SignatureView view() const {
    return {words_.data(), nullptr, block_excess_.data(), block_size_.data(), 0, groups_, steps_};
  }

 private:
  uint32_t groups_;
  uint32_t steps_;
  DeviceBuffer<uint32_t> words_;
  DeviceBuffer<uint32_t> block_excess_;
  DeviceBuffer<uint32_t> block_size_;
};

// The tables of a comparison in groups. Few parts of a group that passes pass, too, so members are looked at
// part by part.
class GroupTables {
 public:
  GroupTables(Device &device, const SignatureView &members, uint32_t group);

  uint32_t part() const { return part_; }  // members of a part
  SignatureView parts() const { return parts_ ? parts_->view() : members_; }
  SignatureView groups() const { return groups_.view(); }

 private:
  SignatureView members_;
  uint32_t part_;
  std::optional<DeviceGroupTable> parts_;
  DeviceGroupTable groups_;
};

}  // namespace simjoin::gpu
