// Builds the ops of a kernel and keeps one copy of each constant, at the top of the kernel.
#pragma once

#include "dialect/AttnDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace tessera::attn {

class TileBuilder : public mlir::OpBuilder {
public:
  /// Inserts at the end of the kernel until told otherwise. The kernel outlives the builder.
  explicit TileBuilder(KernelOp kernel);

  mlir::Value index(int64_t value);
  mlir::Value boolean(bool value);
  /// A tile of f32, every element `value` rounded to f32.
  mlir::Value splat(mlir::Type tile, double value);
  /// A tile whose every element is the bottom of f32's finite range: no finite score is below it.
  mlir::Value lowest(mlir::Type tile);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  /// `a` times the constant; `a` itself where the constant is 1.
  mlir::Value scale(mlir::Value a, double by);
  mlir::Value expand(mlir::Value rows, mlir::Type tile);

private:
  mlir::Value constant(mlir::TypedAttr value);

  KernelOp kernel;
};

/// Drops the constants at the top of the kernel that nothing uses any more.
void eraseUnusedConstants(KernelOp kernel);

/// The value of an f32 splat constant; nothing for any other value.
std::optional<double> splatValue(mlir::Value value);

/// Whether the value is the splat of the lowest finite f32.
bool isLowest(mlir::Value value);

} // namespace tessera::attn
