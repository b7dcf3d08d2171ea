// The special registers that programs may read.
#pragma once

#include <cstdint>

// clang-format off
#define TESSERA_SPECIAL_REGISTERS(X) \
  X("%tid.x", TidX) \
  X("%tid.y", TidY) \
  X("%tid.z", TidZ) \
  X("%tid.w", TidW) \
  X("%ntid.x", NtidX) \
  X("%ntid.y", NtidY) \
  X("%ntid.z", NtidZ) \
  X("%ntid.w", NtidW) \
  X("%ctaid.x", CtaidX) \
  X("%ctaid.y", CtaidY) \
  X("%ctaid.z", CtaidZ) \
  X("%ctaid.w", CtaidW) \
  X("%nctaid.x", NctaidX) \
  X("%nctaid.y", NctaidY) \
  X("%nctaid.z", NctaidZ) \
  X("%nctaid.w", NctaidW) \
  X("%laneid", LaneId) \
  X("%warpid", WarpId) \
  X("%nwarpid", NwarpId) \
  X("%smid", SmId) \
  X("%nsmid", NsmId) \
  X("%gridid", GridId) \
  X("%lanemask_eq", LanemaskEq) \
  X("%lanemask_le", LanemaskLe) \
  X("%lanemask_lt", LanemaskLt) \
  X("%lanemask_ge", LanemaskGe) \
  X("%lanemask_gt", LanemaskGt) \
  X("%clock", Clock) \
  X("%clock_hi", ClockHi) \
  X("%clock64", Clock64) \
  X("%globaltimer", GlobalTimer) \
  X("%globaltimer_lo", GlobalTimerLo) \
  X("%globaltimer_hi", GlobalTimerHi) \
  X("%dynamic_smem_size", DynamicSharedSize) \
  X("%total_smem_size", TotalSharedSize) \
  X("%aggr_smem_size", AggregateSharedSize) \
  X("%reserved_smem_offset_begin", ReservedBegin) \
  X("%reserved_smem_offset_end", ReservedEnd) \
  X("%reserved_smem_offset_cap", ReservedCap) \
  X("%reserved_smem_offset_0", Reserved0) \
  X("%reserved_smem_offset_1", Reserved1) \
  X("%cluster_ctarank", ClusterRank) \
  X("%cluster_nctarank", ClusterSize) \
  X("%cluster_ctaid.x", ClusterCtaidX) \
  X("%cluster_ctaid.y", ClusterCtaidY) \
  X("%cluster_ctaid.z", ClusterCtaidZ) \
  X("%cluster_nctaid.x", ClusterNctaidX) \
  X("%cluster_nctaid.y", ClusterNctaidY) \
  X("%cluster_nctaid.z", ClusterNctaidZ) \
  X("%clusterid.x", ClusteridX) \
  X("%clusterid.y", ClusteridY) \
  X("%clusterid.z", ClusteridZ) \
  X("%nclusterid.x", NclusteridX) \
  X("%nclusterid.y", NclusteridY) \
  X("%nclusterid.z", NclusteridZ) \
  X("%pm0", Pm0) \
  X("%pm1", Pm1) \
  X("%pm2", Pm2) \
  X("%pm3", Pm3) \
  X("%pm4", Pm4) \
  X("%pm5", Pm5) \
  X("%pm6", Pm6) \
  X("%pm7", Pm7) \
  X("%current_graph_exec", GraphExec) \
  X("%envreg1", WorkspaceHigh) \
  X("%envreg2", WorkspaceLow) \
  X("%envreg", EnvironmentRegister) \
  X("%pm64", Pm64)
// clang-format on

namespace tessera::sim::program {

enum class Special : uint8_t {
#define ENTRY(text, id) id,
  TESSERA_SPECIAL_REGISTERS(ENTRY)
#undef ENTRY
};

} // namespace tessera::sim::program
