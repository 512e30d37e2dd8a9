#include "pg/base/packed_rows.hpp"

namespace simjoin::pg {
namespace {

// The last bytes of a row tell the NULLs.
uint32_t null_bytes(TupleDesc descriptor) {
  return static_cast<uint32_t>(descriptor->natts + 7) / 8;
}

uint32_t value_bytes(TupleDesc descriptor) {
  uint32_t bytes = 0;
  for (int i = 0; i < descriptor->natts; ++i)
    bytes += static_cast<uint32_t>(TupleDescAttr(descriptor, i)->attlen);
  return bytes;
}

}  // namespace

uint32_t packed_row_bytes(TupleDesc descriptor) {
  for (int i = 0; i < descriptor->natts; ++i)
    if (!TupleDescAttr(descriptor, i)->attbyval) return 0;
  return value_bytes(descriptor) + null_bytes(descriptor);
}

void pack_row(TupleDesc descriptor, const Datum *values, const bool *nulls, char *row) {
  char *at = row;
  char *bits = row + value_bytes(descriptor);
  memset(bits, 0, null_bytes(descriptor));
  for (int i = 0; i < descriptor->natts; ++i) {
    const int16 bytes = TupleDescAttr(descriptor, i)->attlen;
    const Datum value = nulls[i] ? static_cast<Datum>(0) : values[i];
    if (nulls[i]) bits[i / 8] |= static_cast<char>(1 << i % 8);
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

void unpack_row(TupleDesc descriptor, const char *row, Datum *values, bool *nulls) {
  const char *bits = row + value_bytes(descriptor);
  for (int i = 0; i < descriptor->natts; ++i) {
    const int16 bytes = TupleDescAttr(descriptor, i)->attlen;
    nulls[i] = (bits[i / 8] >> i % 8 & 1) != 0;
    switch (bytes) {
      case 1: {
        values[i] = CharGetDatum(*row);
        break;
      }
      case 2: {
        int16 number;
        memcpy(&number, row, sizeof number);
        values[i] = Int16GetDatum(number);
        break;
      }
      case 4: {
        int32 number;
        memcpy(&number, row, sizeof number);
        values[i] = Int32GetDatum(number);
        break;
      }
      default:
        memcpy(&values[i], row, sizeof values[i]);
    }
    row += bytes;
  }
}

}  // namespace simjoin::pg
