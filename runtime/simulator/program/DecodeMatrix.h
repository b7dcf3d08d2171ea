// What the decoders of mma and wmma have in common: operand lists, types and their qualifiers.
#pragma once

#include "runtime/simulator/program/Decoder.h"
#include "runtime/simulator/program/Variants.h"

namespace tessera::sim::program {

/// Types of A and B that go together and with the same sums.
enum class MatrixClass : uint8_t { Half, Bfloat, Tf32, Byte, Double, Integer8, Integer4, Bit };
MatrixClass classOf(MmaElement element);

/// {a, b, …} of exactly `expected` registers of `type`, appended to `out`.
bool matrixRegisters(Decoder &d, const ptx::Operand &operand, size_t expected, Type type, std::vector<uint32_t> &out,
                     bool results);
bool needSyncAligned(Decoder &d, Op &op);
/// All type qualifiers in their order, those of 4 and 1 bits included; `count` of them.
bool matrixTypes(Decoder &d, size_t count, std::vector<std::string_view> &out);
bool matrixElement(Decoder &d, std::string_view name, MmaElement &out);
/// The type that Op::type of a product tells; that of twice the width for 4 and 1 bits.
Type registerType(MmaElement element);
/// Type of C or D, which must suit A and B.
bool accumulator(Decoder &d, std::string_view name, MatrixClass of, Type &out);

// Qualifiers of products, where they belong to the class.
bool bitOperation(Decoder &d, MatrixClass of, Op &op);
bool roundingOf(Decoder &d, MatrixClass of, Op &op);
bool saturation(Decoder &d, MatrixClass of, Op &op);
/// Shape, elements and the number of operations into `op`.
void describeProduct(Op &op, MmaShape shape, MmaElement a, MmaElement b);

void addWmmaDecoders(DecodeTable &table);

} // namespace tessera::sim::program
