// What a shell sees of a failure.
#pragma once

#include "runtime/spec/Result.h"

namespace tessera::cli {

enum ExitCode : int {
  Right = 0,
  CheckFailed = 1, ///< a result lies outside of its bound
  Usage = 2,       ///< the values given are wrong
  Unsupported = 3, ///< a valid request that Tessera cannot serve
  NoDevice = 4,
  FileTrouble = 5,
  Failure = 6,       ///< the driver or the compiler refused, or a defect of Tessera
  Interrupted = 130, ///< by Ctrl-C; what was found until then is kept
};

inline ExitCode exitCodeOf(Code code) {
  switch (code) {
  case Code::Ok:
    return Right;
  case Code::InvalidArgument:
  case Code::NotFound:
    return Usage;
  case Code::Unsupported:
    return Unsupported;
  case Code::NoDevice:
    return NoDevice;
  case Code::File:
    return FileTrouble;
  case Code::DriverError:
  case Code::CompileError:
  case Code::Internal:
    break;
  }
  return Failure;
}

} // namespace tessera::cli
