// Copy: checked copies and fills of rows, planes and boxes in linear memory, wherever it lies.
#pragma once

#include "runtime/simulator/driver/Graph.h"

namespace tessera::sim::driver {

/// What a piece of work ended with.
struct Outcome {
  CUresult fault = CUDA_SUCCESS; ///< reported by the next synchronisation of the context
  double nanoseconds = 0;        ///< modelled duration
};

/// A copy of `bytes` as a shape, between addresses of unified memory.
CUDA_MEMCPY3D lineOf(CUdeviceptr to, CUmemorytype toType, CUdeviceptr from, CUmemorytype fromType, size_t bytes);
CUDA_MEMCPY3D planeOf(const CUDA_MEMCPY2D &shape);

/// Resolves and checks a copy. INVALID_VALUE for ranges that no live allocation holds, pitches that are too small, and
/// unknown kinds of memory; NOT_SUPPORTED for arrays. Host memory that no device has adopted is the caller's business.
CUresult makeCopy(Context &context, const CUDA_MEMCPY3D &shape, CopyWork *work);
/// Likewise a fill of `height` rows of `width` elements.
CUresult makeFill(Context &context, const CUDA_MEMSET_NODE_PARAMS &shape, FillWork *work);

/// The ranges were sound when the work was made; an allocation freed since then faults like any access to it.
Outcome runCopy(const CopyWork &work, Device &device);
Outcome runFill(const FillWork &work, Device &device);

} // namespace tessera::sim::driver
