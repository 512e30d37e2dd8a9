// Groups of related documents by definition, without a filter.
#pragma once

#include <cstdint>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "core/clusters/cluster_device.hpp"
#include "core/clusters/cluster_relations.hpp"

namespace simjoin::test {

// Returns groups as ClusterDevice::find() does, with only related documents in a group.
inline void group_naively(const DocumentVectors &documents, uint32_t least, const FoundCluster *found,
                          uint32_t *groups) {
  const auto count = static_cast<uint32_t>(documents.size());
  std::iota(groups, groups + count, 0u);
  const auto first_of = [&](uint32_t document) {
    while (groups[document] != document) document = groups[document];
    return document;
  };
  std::unordered_map<uint32_t, std::vector<std::pair<uint32_t, uint32_t>>>
      lists;  // earlier documents, weights
  std::vector<uint64_t> products(count, 0);
  std::vector<uint32_t> candidates;
  for (uint32_t i = 0; i < count; ++i) {
    candidates.clear();
    for (const TermWeight &entry : documents[i]) {
      auto &list = lists[entry.term];
      for (const auto &[earlier, weight] : list) {
        if (products[earlier] == 0) candidates.push_back(earlier);
        products[earlier] += uint64_t{weight} * entry.weight;
      }
      list.emplace_back(i, entry.weight);
    }
    const uint32_t similarity = least_newer(least, found[i]);
    for (const uint32_t earlier : candidates) {
      const uint64_t product = std::exchange(products[earlier], 0);
      if (static_cast<double>(product) < least_related(similarity, documents.reaches[earlier])) continue;
      const uint32_t a = first_of(earlier), b = first_of(i);
      groups[std::max(a, b)] = std::min(a, b);
    }
  }
  for (uint32_t i = 0; i < count; ++i) groups[i] = first_of(i);
}

}  // namespace simjoin::test
