// The named stages of a compile: what can be printed, stopped at, and replaced by a file.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace tessera {

enum class Stage { Attn, Tiled, Online, Scheduled, Nvvm, Llvm, Ptx, Cubin, Image };

struct StageName {
  Stage stage;
  std::string_view name; ///< in flags
  std::string_view file; ///< in a folder of stages; empty: not written there
};

inline constexpr std::array<StageName, 9> stageNames{{
    {Stage::Attn, "attn", "attn.mlir"},
    {Stage::Tiled, "tiled", "tiled.mlir"},
    {Stage::Online, "online", "online.mlir"},
    {Stage::Scheduled, "scheduled", "scheduled.mlir"},
    {Stage::Nvvm, "nvvm", "nvvm.mlir"},
    {Stage::Llvm, "llvm", "kernel.ll"},
    {Stage::Ptx, "ptx", "kernel.ptx"},
    {Stage::Cubin, "cubin", "kernel.cubin"},
    {Stage::Image, "image", ""},
}};

constexpr std::optional<Stage> parseStage(std::string_view name) {
  for (const StageName &entry : stageNames)
    if (entry.name == name)
      return entry.stage;
  return std::nullopt;
}

constexpr const StageName &describe(Stage stage) { return stageNames[size_t(stage)]; }

} // namespace tessera
