// A search for right rows, for one left row after the other: right rows are indexed, left rows looked up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/worker_pool.hpp"
#include "core/join.hpp"

namespace simjoin {

// Use: add every right row, then index(). Add a left row, and step until `done`. Then add the next one. A
// left row's number is always 0. Right rows that share no token with it come in no pair.
class RowSearch : public JoinEngine {
 public:
  // Returns about the bytes that indexing the right rows so far takes in all.
  virtual size_t bytes_to_index() const = 0;
  // Returns whether index() may take longer than a few tens of milliseconds.
  virtual bool takes_long_to_index() const = 0;
  // Ends the right side. Throws Cancelled if the flag is set.
  virtual void index(const StopFlag &stop) = 0;

  // Says of the last left row: the caller asks for this many pairs at first, and for none whose score is
  // less.
  virtual void limit(uint32_t pairs, double least_score) = 0;
  // Returns whether a right row shares a token with the last left row. The row's first call may take a while.
  virtual bool shares_tokens(uint32_t row) = 0;
};

}  // namespace simjoin
