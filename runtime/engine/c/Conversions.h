// Conversions: the values of the C interface and those of the C++ interface, each into the other.
#pragma once

#include "runtime/engine/TensorView.h"
#include "runtime/spec/AttentionSpec.h"
#include "tessera/tessera_c.h"

namespace tessera::c {

/// InvalidArgument for a number that is no type.
Status toDType(tessera_dtype number, const char *what, DType &type);
tessera_dtype fromDType(DType type);

/// A spec as the caller gave it, not yet validated as a whole: every number is one of those declared, and nothing is
/// set that the rest of the spec makes meaningless.
Status toSpec(const tessera_spec *given, AttentionSpec &spec);
tessera_spec fromSpec(const AttentionSpec &spec);

Status toProblem(const tessera_problem *given, Problem &problem);

/// `name` is the argument's, for messages.
Status toView(const tessera_tensor *given, const char *name, TensorView &view);
RowView toView(const tessera_rows &rows);
void fromView(const TensorView &view, tessera_tensor &tensor);
void fromView(const RowView &view, tessera_rows &rows);

} // namespace tessera::c
