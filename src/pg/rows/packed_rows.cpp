#include "pg/rows/packed_rows.hpp"

namespace simjoin::pg {
namespace {

// The first bytes of a row tell the NULLs.
uint32_t null_bytes(TupleDesc descriptor, int without) {
  return static_cast<uint32_t>(descriptor->natts - (without < 0 ? 0 : 1) + 7) / 8;
}

}  // namespace

uint32_t packed_row_bytes(TupleDesc descriptor, int without) {
  uint32_t bytes = null_bytes(descriptor, without);
  for (int i = 0; i < descriptor->natts; ++i) {
    const Form_pg_attribute column = TupleDescAttr(descriptor, i);
    if (i == without) continue;
    if (!column->attbyval) return 0;
    bytes += static_cast<uint32_t>(column->attlen);
  }
  return bytes;
}

void pack_row(TupleDesc descriptor, int without, const Datum *values, const bool *nulls, char *row) {
  char *at = row + null_bytes(descriptor, without);
  memset(row, 0, static_cast<size_t>(at - row));
  for (int i = 0, bit = 0; i < descriptor->natts; ++i) {
    if (i == without) continue;
    const int16 bytes = TupleDescAttr(descriptor, i)->attlen;
    const Datum value = nulls[i] ? static_cast<Datum>(0) : values[i];
    if (nulls[i]) row[bit / 8] |= static_cast<char>(1 << bit % 8);
    ++bit;
    switch (bytes) {
      case 1: {
        *at = DatumGetChar(value);
        break;
      }
      case 2: {
        const int16 number = DatumGetInt16(value);
        memcpy(at, &number, sizeof number);
        break;
      }
      case 4: {
        const int32 number = DatumGetInt32(value);
        memcpy(at, &number, sizeof number);
        break;
      }
      default:
        memcpy(at, &value, sizeof value);
    }
    at += bytes;
  }
}

void unpack_row(TupleDesc descriptor, int without, const char *row, Datum *values, bool *nulls) {
  const char *at = row + null_bytes(descriptor, without);
  for (int i = 0, bit = 0; i < descriptor->natts; ++i) {
    if (i == without) continue;
    const int16 bytes = TupleDescAttr(descriptor, i)->attlen;
    nulls[i] = (row[bit / 8] >> bit % 8 & 1) != 0;
    ++bit;
    switch (bytes) {
      case 1: {
        values[i] = CharGetDatum(*at);
        break;
      }
      case 2: {
        int16 number;
        memcpy(&number, at, sizeof number);
        values[i] = Int16GetDatum(number);
        break;
      }
      case 4: {
        int32 number;
        memcpy(&number, at, sizeof number);
        values[i] = Int32GetDatum(number);
        break;
      }
      default:
        memcpy(&values[i], at, sizeof values[i]);
    }
    at += bytes;
  }
}

}  // namespace simjoin::pg
