// What a problem's extents may be.
#include "runtime/spec/Problem.h"

#include <fmt/format.h>

namespace tessera {

Status Problem::validate() const {
  auto check = [](std::string_view what, int64_t value, int64_t limit) -> Status {
    if (value < 0 || value > limit)
      return {Code::InvalidArgument, fmt::format("{} must be 0 to {}, got {}", what, limit, value)};
    return {};
  };
  if (Status status = check("batch", batch, INT64_MAX); !status)
    return status;
  if (Status status = check("heads", heads, INT32_MAX); !status)
    return status;
  if (Status status = check("kv_heads", kvHeads, INT32_MAX); !status)
    return status;
  if (Status status = check("seqlen_q", seqlenQ, INT32_MAX); !status)
    return status;
  if (Status status = check("seqlen_kv", seqlenKv, INT32_MAX); !status)
    return status;
  if (heads && (kvHeads == 0 || heads % kvHeads))
    return {Code::InvalidArgument, fmt::format("heads must be a multiple of kv_heads, got {} and {}", heads, kvHeads),
            "query head h reads KV head h / (heads / kv_heads)"};
  return {};
}

} // namespace tessera
