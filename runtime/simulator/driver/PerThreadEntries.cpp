// The family of entry points whose default stream is the thread's own, which programs built with per-thread default
// streams call: each runs its namesake under that rule.
#include "runtime/simulator/driver/LegacyEntries.h"
#include "runtime/simulator/driver/State.h"

#include <tuple>

using namespace tessera::sim::driver;

namespace {

template <typename Function> struct Signature;
template <typename... Arguments> struct Signature<CUresult(Arguments...)> {
  template <size_t Index> using Argument = std::tuple_element_t<Index, std::tuple<Arguments...>>;
};

} // namespace

#define ARGUMENT(name, index) Signature<decltype(name)>::Argument<index> a##index
#define ARGUMENTS_1(name) ARGUMENT(name, 0)
#define ARGUMENTS_2(name) ARGUMENTS_1(name), ARGUMENT(name, 1)
#define ARGUMENTS_3(name) ARGUMENTS_2(name), ARGUMENT(name, 2)
#define ARGUMENTS_4(name) ARGUMENTS_3(name), ARGUMENT(name, 3)
#define ARGUMENTS_5(name) ARGUMENTS_4(name), ARGUMENT(name, 4)
#define ARGUMENTS_6(name) ARGUMENTS_5(name), ARGUMENT(name, 5)
#define ARGUMENTS_7(name) ARGUMENTS_6(name), ARGUMENT(name, 6)
#define ARGUMENTS_8(name) ARGUMENTS_7(name), ARGUMENT(name, 7)
#define ARGUMENTS_9(name) ARGUMENTS_8(name), ARGUMENT(name, 8)
#define ARGUMENTS_10(name) ARGUMENTS_9(name), ARGUMENT(name, 9)
#define ARGUMENTS_11(name) ARGUMENTS_10(name), ARGUMENT(name, 10)
#define VALUES_1 a0
#define VALUES_2 VALUES_1, a1
#define VALUES_3 VALUES_2, a2
#define VALUES_4 VALUES_3, a3
#define VALUES_5 VALUES_4, a4
#define VALUES_6 VALUES_5, a5
#define VALUES_7 VALUES_6, a6
#define VALUES_8 VALUES_7, a7
#define VALUES_9 VALUES_8, a8
#define VALUES_10 VALUES_9, a9
#define VALUES_11 VALUES_10, a10

#define PER_THREAD(name, suffix, count, version)                                                                       \
  extern "C" __attribute__((visibility("default"))) CUresult name##suffix(ARGUMENTS_##count(name)) {                   \
    PerThreadScope scope;                                                                                              \
    return name(VALUES_##count);                                                                                       \
  }
#include "runtime/simulator/driver/PerThread.def"
