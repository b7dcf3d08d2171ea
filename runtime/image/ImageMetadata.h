// The JSON part of a serialised image: every fact but the code.
#pragma once

#include "runtime/image/KernelImage.h"

namespace tessera::detail {

/// One line of JSON with sorted keys.
std::string metadataText(const KernelImage &image);

/// Fills all but ptx and cubin from untrusted text. File with the field at fault.
Status readMetadata(std::string_view text, KernelImage &image);

} // namespace tessera::detail
