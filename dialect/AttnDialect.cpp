// Registration and verification of the attn dialect.
#include "dialect/AttnDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera::attn;

#include "dialect/AttnDialect.cpp.inc"
#include "dialect/AttnEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/AttnAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/AttnTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/AttnOps.cpp.inc"

void AttnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/AttnAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/AttnTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/AttnOps.cpp.inc"
      >();
}

LogicalResult BandAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, std::optional<int64_t> left,
                               std::optional<int64_t> right, BandAlign align) {
  if (!left && !right)
    return emitError() << "band_c1: a band has at least one bound; leave the band out for a full mask";
  if ((left && *left < 0) || (right && *right < 0))
    return emitError() << "band_c2: a bound counts keys and is never negative, got left " << left.value_or(0)
                       << ", right " << right.value_or(0);
  return success();
}

LogicalResult ScheduleAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, StringRef text) {
  auto schedule = tessera::Schedule::parse(std::string_view(text));
  return schedule ? success() : LogicalResult(emitError() << "schedule_c1: " << schedule.status().message());
}

tessera::Schedule ScheduleAttr::getSchedule() const { return *tessera::Schedule::parse(std::string_view(getText())); }

LogicalResult TargetAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, StringRef name) {
  auto target = tessera::Target::parse(std::string_view(name));
  return target ? success() : LogicalResult(emitError() << "target_c1: " << target.status().message());
}

tessera::Target TargetAttr::getTarget() const { return *tessera::Target::parse(std::string_view(getName())); }
