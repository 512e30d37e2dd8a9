// Rows that a set-returning function returns.
#pragma once

#include "pg/base/compat.hpp"

#include <cstddef>
#include <initializer_list>

#include "pg/base/interruptible.hpp"

namespace simjoin::pg {

// A value of a row: a Datum, or NULL.
class ResultValue {
 public:
  ResultValue(Datum value) : value_(value), isnull_(false) {}
  ResultValue(std::nullptr_t) : value_(0), isnull_(true) {}

  Datum value() const { return value_; }
  bool isnull() const { return isnull_; }

 private:
  Datum value_;
  bool isnull_;
};

// The result of a call, in a tuplestore.
class ResultRows {
 public:
  explicit ResultRows(FunctionCallInfo fcinfo) {
    compat::begin_materialized_result(fcinfo);
    result_ = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    // The executor frees the columns that it is given. Those of a plain record are its own, which it needs.
    if (result_->setDesc != result_->expectedDesc) return;
    MemoryContext old = MemoryContextSwitchTo(result_->econtext->ecxt_per_query_memory);
    result_->setDesc = CreateTupleDescCopy(result_->expectedDesc);
    MemoryContextSwitchTo(old);
  }

  // Returns the columns of the rows.
  TupleDesc columns() const { return result_->setDesc; }

  // Returns the type of a column, which counts from 0.
  Oid column_type(int column) const { return TupleDescAttr(columns(), column)->atttypid; }

  // Adds a row, which has a value for each column.
  void add(std::initializer_list<ResultValue> row) {
    Datum values[most_columns];
    bool nulls[most_columns];
    int column = 0;
    for (const ResultValue &value : row) {
      values[column] = value.value();
      nulls[column++] = value.isnull();
    }
    add(values, nulls);
  }
  void add(Datum *values, bool *nulls) {
    tuplestore_putvalues(result_->setResult, result_->setDesc, values, nulls);
  }

 private:
  static constexpr int most_columns = 14;

  ReturnSetInfo *result_;
};

// Calls add(row), which adds a row to a result, for each number below `rows`. Processes interrupts.
template <class Add>
void return_rows(size_t rows, Add &&add) {
  constexpr size_t cost_of_row = 200;  // in the units of InterruptCounter
  InterruptCounter interrupts;
  for (size_t row = 0; row < rows; ++row) {
    interrupts.add(cost_of_row);
    add(row);
  }
}

}  // namespace simjoin::pg
