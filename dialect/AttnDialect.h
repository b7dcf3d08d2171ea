// The attn dialect: attributes, types and ops (generated from the .td files beside this header).
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "runtime/spec/Schedule.h"

#include "dialect/AttnDialect.h.inc"
#include "dialect/AttnEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/AttnAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/AttnTypes.h.inc"
#define GET_OP_CLASSES
#include "dialect/AttnOps.h.inc"
