// FatBinary: the PTX inside the images that cuModuleLoadData and its kin are given.
#pragma once

#include "runtime/simulator/DeviceProfile.h"
#include "runtime/simulator/driver/Cuda.h"

#include <cstdint>
#include <string>

namespace tessera::sim::driver {

/// Finds the PTX text of an image: PTX itself, or the newest PTX for the profile inside a fat binary, plain or
/// compressed by LZ4 or Zstandard. `why` explains a refusal: NO_BINARY_FOR_GPU when there is machine code only or none
/// for this GPU, INVALID_IMAGE for a fat binary that is malformed. An image carries its own length: PTX ends with a
/// zero, a fat binary states its size, and the caller vouches for both, as with a GPU's driver, unless `available` says
/// how many bytes there are.
CUresult ptxOfImage(const void *image, size_t available, const DeviceProfile &profile, std::string *ptx,
                    std::string *why);
/// For images whose length nobody has told.
constexpr size_t UnknownLength = SIZE_MAX;

/// The bytes of an image, to be kept for later.
std::string copyOfImage(const void *image, size_t available);

} // namespace tessera::sim::driver
