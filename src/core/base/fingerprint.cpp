#include "core/base/fingerprint.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace simjoin {

Fingerprint fingerprint(const void *data, size_t size, uint64_t kind) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(data, size, kind);
  return {hash.high64, hash.low64};
}

}  // namespace simjoin
