// NumPy's .npy files: versions 1.0, 2.0 and 3.0 of the header, f16, bf16 and f32 elements.
#pragma once

#include "autotune/cli/files/ByteSource.h"
#include "autotune/cli/files/HostTensor.h"

namespace tessera::files {

/// Reads one array from untrusted bytes; arrays in Fortran order arrive in row-major order. Element types: '<f2',
/// '<f4', and two bytes of no type ('|V2', as NumPy writes the bfloat16 of ml_dtypes) or 'bfloat16' as bf16. Code::File
/// with the reason for anything else; nothing is allocated before the file has been seen to hold it.
Result<HostTensor> readNpy(const ByteSource &source);

/// Everything that stands before the elements in a file of this tensor (version 1.0). bf16 is written as '<V2'; load it
/// with `numpy.load(f).view(ml_dtypes.bfloat16)`.
std::string npyHeader(const HostTensor &tensor);

} // namespace tessera::files
