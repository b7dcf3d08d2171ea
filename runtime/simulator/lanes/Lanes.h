// Lanes: loops over the 32 lanes of a warp. Each source that includes this is compiled once per instruction set
// (TESSERA_SIM_ISA names it), inside a namespace of that name, with internal linkage, so that no build leaks into
// another. Sources end with TESSERA_SIM_ISA_END.
#pragma once

#include "runtime/simulator/machine/Access.h"
#include "runtime/simulator/machine/Block.h"
#include "runtime/simulator/machine/Report.h"
#include "runtime/simulator/numerics/Directed.h"
#include "runtime/simulator/program/SpecialRegister.h"
#include "runtime/simulator/program/Variants.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#ifndef TESSERA_SIM_ISA
#define TESSERA_SIM_ISA baseline
#define TESSERA_SIM_ISA_LEVEL 0
#endif

#if TESSERA_SIM_ISA_LEVEL == 2
#pragma clang attribute push(                                                                                          \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt"))),        \
    apply_to = function)
#define TESSERA_SIM_ISA_END _Pragma("clang attribute pop")
#elif TESSERA_SIM_ISA_LEVEL == 1
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#define TESSERA_SIM_ISA_END _Pragma("clang attribute pop")
#else
#define TESSERA_SIM_ISA_END
#endif

// Below the pragma, so that these are compiled for the instruction set too.
#include "runtime/simulator/numerics/Formats.h"

/// Lane loops carry no dependence: a result slot is either one of the sources, lane for lane, or apart from them.
#define TESSERA_LANES                                                                                                  \
  _Pragma("clang loop vectorize(assume_safety) unroll(disable)") for (unsigned i = 0; i < warpSize; ++i)

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

using machine::allLanes;
using machine::Undefined;
using machine::Warp;
using machine::warpSize;
using namespace program;
using namespace numerics;

Handler selectInteger(const Op &op);
Handler selectBits(const Op &op);
Handler selectFloat(const Op &op);
Handler selectHalf(const Op &op);
Handler selectCompare(const Op &op);
Handler selectConvert(const Op &op);
Handler selectMove(const Op &op);
Handler selectMemory(const Op &op);
Handler selectMatrixMemory(const Op &op);
Handler selectAtomic(const Op &op);
Handler selectWarp(const Op &op);
Handler selectMatrix(const Op &op);
Handler selectMatrixInteger(const Op &op);
Handler selectMatrixQuads(const Op &op);
Handler selectWmma(const Op &op);
Handler select(const Op &op);

namespace {

// F::R result, F::A F::B F::C sources; F::apply is pure.
template <class F> const Op *map1(Warp &w, const Op &op) {
  auto *d = w.reg<typename F::R>(op.dst);
  const auto *a = w.reg<typename F::A>(op.a);
  if (w.active == allLanes) {
    TESSERA_LANES d[i] = F::apply(a[i]);
  } else {
    for (uint32_t m = w.active; m; m &= m - 1) {
      int i = std::countr_zero(m);
      d[i] = F::apply(a[i]);
    }
  }
  return &op + 1;
}

template <class F> const Op *map2(Warp &w, const Op &op) {
  auto *d = w.reg<typename F::R>(op.dst);
  const auto *a = w.reg<typename F::A>(op.a);
  const auto *b = w.reg<typename F::B>(op.b);
  if (w.active == allLanes) {
    TESSERA_LANES d[i] = F::apply(a[i], b[i]);
  } else {
    for (uint32_t m = w.active; m; m &= m - 1) {
      int i = std::countr_zero(m);
      d[i] = F::apply(a[i], b[i]);
    }
  }
  return &op + 1;
}

template <class F> const Op *map3(Warp &w, const Op &op) {
  auto *d = w.reg<typename F::R>(op.dst);
  const auto *a = w.reg<typename F::A>(op.a);
  const auto *b = w.reg<typename F::B>(op.b);
  const auto *c = w.reg<typename F::C>(op.c);
  if (w.active == allLanes) {
    TESSERA_LANES d[i] = F::apply(a[i], b[i], c[i]);
  } else {
    for (uint32_t m = w.active; m; m &= m - 1) {
      int i = std::countr_zero(m);
      d[i] = F::apply(a[i], b[i], c[i]);
    }
  }
  return &op + 1;
}

/// Per lane with access to the op; for instructions that are rare or do not vectorise. F::apply(op, d, w, lane).
template <class F> const Op *each(Warp &w, const Op &op) {
  for (uint32_t m = w.active; m; m &= m - 1)
    F::apply(w, op, static_cast<unsigned>(std::countr_zero(m)));
  return &op + 1;
}

inline void writePredicate(Warp &w, uint32_t offset, uint32_t lanes) {
  uint32_t &p = w.predicate(offset);
  p = (p & ~w.active) | (lanes & w.active);
}

} // namespace
} // namespace tessera::sim::lanes::TESSERA_SIM_ISA
