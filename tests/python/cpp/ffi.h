/* The TVM-FFI calling convention, with the structs of DLPack and without any library of TVM-FFI. */
#include <stdint.h>
#include <stdio.h>

typedef struct {
  int32_t type;
  uint32_t length;
  union {
    int64_t integer;
    double floating;
    const void *pointer;
  } value;
} Any;
typedef struct {
  void *data;
  int32_t device, deviceId, rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;
} Tensor;
/* Types of an argument. */
enum { none = 0, integer = 1, floating = 3, opaquePointer = 4, tensorPointer = 7 };

int __tvm_ffi_scale(void *self, const Any *arguments, int32_t count, Any *result);
