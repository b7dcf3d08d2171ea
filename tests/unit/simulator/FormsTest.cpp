// Every documented form of every instruction of sm_80 and sm_89 loads: the manual's grammar, expanded. Where the
// toolkit's assembler is at hand it confirms that the forms are real.
#include "runtime/simulator/program/Decoder.h"
#include "tests/unit/simulator/Harness.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

using List = std::vector<std::string>;

/// Lines of grammar: `{a|b|}` is one of these, `$T` opens the type that `%t1`, `%t2` … are registers of.
const List &grammar() {
  static const List lines = {
      // Integers.
      "add.{u16|s16|u32|s32|u64|s64} %t1, %t2, %t3;", "sub.{u16|s16|u32|s32|u64|s64} %t1, %t2, %t3;",
      "{add|sub}.sat.{s32} %t1, %t2, %t3;", "{add|sub|addc|subc|}.cc.{u32|s32|u64|s64} %t1, %t2, %t3;",
      "{addc|subc}.{u32|s32|u64|s64} %t1, %t2, %t3;", "mul.{lo|hi}.{u16|s16|u32|s32|u64|s64} %t1, %t2, %t3;",
      "mul.wide.{u16|s16} %r1, %t2, %t3;", "mul.wide.{u32|s32} %d1, %t2, %t3;",
      "mad.{lo|hi}.{u16|s16|u32|s32|u64|s64} %t1, %t2, %t3, %t4;", "mad.wide.{u16|s16} %r1, %t2, %t3, %r4;",
      "mad.wide.{u32|s32} %d1, %t2, %t3, %d4;", "mad.hi.sat.s32 %r1, %r2, %r3, %r4;",
      "{mad|madc}.{lo|hi}.cc.{u32|s32|u64|s64} %t1, %t2, %t3, %t4;",
      "madc.{lo|hi}.{u32|s32|u64|s64} %t1, %t2, %t3, %t4;", "mul24.{lo|hi}.{u32|s32} %t1, %t2, %t3;",
      "mad24.{lo|hi}.{u32|s32} %t1, %t2, %t3, %t4;", "mad24.hi.sat.s32 %r1, %r2, %r3, %r4;",
      "sad.{u16|s16|u32|s32|u64|s64} %t1, %t2, %t3, %t4;", "{div|rem|min|max}.{u16|s16|u32|s32|u64|s64} %t1, %t2, %t3;",
      "{abs|neg}.{s16|s32|s64} %t1, %t2;", "{popc|clz}.{b32|b64} %r1, %t2;", "brev.{b32|b64} %t1, %t2;",
      "bfind.{u32|s32|u64|s64} %r1, %t2;", "bfind.shiftamt.{u32|s32|u64|s64} %r1, %t2;", "fns.b32 %r1, %r2, %r3, %r4;",
      "bfe.{u32|s32|u64|s64} %t1, %t2, %r3, %r4;", "bfi.{b32|b64} %t1, %t2, %t3, %r4, %r5;",
      "szext.{clamp|wrap}.{u32|s32} %t1, %t2, %r3;", "bmsk.{clamp|wrap}.b32 %r1, %r2, %r3;",
      "dp4a.{u32|s32}.{u32|s32} %r1, %r2, %r3, %r4;", "dp2a.{lo|hi}.{u32|s32}.{u32|s32} %r1, %r2, %r3, %r4;",
      "{and|or|xor}.{b16|b32|b64|pred} %t1, %t2, %t3;", "not.{b16|b32|b64|pred} %t1, %t2;",
      "cnot.{b16|b32|b64} %t1, %t2;", "lop3.b32 %r1, %r2, %r3, %r4, 0xe8;",
      "lop3.{or|and}.b32 {%r1|_}|%p1, %r2, %r3, %r4, 0x96, {|!}%p2;", "shl.{b16|b32|b64} %t1, %t2, %r3;",
      "shr.{b16|b32|b64|u16|s16|u32|s32|u64|s64} %t1, %t2, %r3;", "shf.{l|r}.{clamp|wrap}.b32 %r1, %r2, %r3, %r4;",
      "prmt.b32{|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16} %r1, %r2, %r3, %r4;",
      // Floating point.
      "{add|sub|mul}{|.rn|.rz|.rm|.rp}{|.ftz}{|.sat}.f32 %f1, %f2, %f3;",
      "{add|sub|mul}{|.rn|.rz|.rm|.rp}.f64 %fd1, %fd2, %fd3;",
      "{fma|mad}.{rn|rz|rm|rp}{|.ftz}{|.sat}.f32 %f1, %f2, %f3, %f4;",
      "{fma|mad}.{rn|rz|rm|rp}.f64 %fd1, %fd2, %fd3, %fd4;", "div.{approx|full|rn|rz|rm|rp}{|.ftz}.f32 %f1, %f2, %f3;",
      "div.{rn|rz|rm|rp}.f64 %fd1, %fd2, %fd3;", "{rcp|sqrt}.{approx|rn|rz|rm|rp}{|.ftz}.f32 %f1, %f2;",
      "{rcp|sqrt}.{rn|rz|rm|rp}.f64 %fd1, %fd2;", "rcp.approx.ftz.f64 %fd1, %fd2;",
      "rsqrt.approx{|.ftz}.f64 %fd1, %fd2;", "{rsqrt|sin|cos|lg2|ex2}.approx{|.ftz}.f32 %f1, %f2;",
      "tanh.approx.f32 %f1, %f2;", "{abs|neg}{|.ftz}.f32 %f1, %f2;", "{abs|neg}.f64 %fd1, %fd2;",
      "{min|max}{|.ftz}{|.NaN}.f32 %f1, %f2, %f3;", "{min|max}.f64 %fd1, %fd2, %fd3;",
      "copysign.{f32|f64} %t1, %t2, %t3;",
      "testp.{finite|infinite|number|notanumber|normal|subnormal}.{f32|f64} %p1, %t2;",
      // Halves.
      "{add|sub|mul}{|.rn}{|.ftz}{|.sat}.{f16|f16x2} %t1, %t2, %t3;",
      "fma.rn{|.ftz}{|.sat|.relu}.{f16|f16x2} %t1, %t2, %t3, %t4;", "fma.rn{|.relu}.{bf16|bf16x2} %t1, %t2, %t3, %t4;",
      "{abs|neg}{|.ftz}.{f16|f16x2} %t1, %t2;", "{abs|neg}.{bf16|bf16x2} %t1, %t2;",
      "{min|max}{|.ftz}{|.NaN}.{f16|f16x2} %t1, %t2, %t3;", "{min|max}{|.NaN}.{bf16|bf16x2} %t1, %t2, %t3;",
      "{ex2|tanh}.approx.{f16|f16x2} %t1, %t2;",
      // Comparison and selection.
      "setp.{eq|ne|lt|le|gt|ge}.{u16|s16|u32|s32|u64|s64} %p1{||%p2}, %t1, %t2;",
      "setp.{lo|ls|hi|hs}.{u16|u32|u64} %p1, %t1, %t2;", "setp.{eq|ne}.{b16|b32|b64} %p1, %t1, %t2;",
      "setp.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}{|.ftz}.f32 %p1{||%p2}, %f1, %f2;",
      "setp.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.f64 %p1, %fd1, %fd2;",
      "setp.{lt|geu}{|.ftz}.f16 %p1, %h1, %h2;", "setp.{lt|geu}{|.ftz}.f16x2 %p1|%p2, %r1, %r2;",
      "setp.ge.{and|or|xor}.{s32|f32|f64|u64} %p1{||%p2}, %t1, %t2, {|!}%p3;",
      "set.{eq|ltu|nan}{|.ftz}.{u32|s32|f32}.f32 %r1, %f1, %f2;",
      "set.ge.{u32|s32|f32}.{u16|s16|u32|s32|u64|s64|f64} %r1, %u1, %u2;",
      "set.lt{|.ftz}.{u16|s16|f16}.f16 %h1, %h2, %h3;", "set.lt{|.ftz}.{u32|s32|f16x2}.f16x2 %r1, %r2, %r3;",
      "set.lt.{and|or|xor}.u32.s32 %r1, %r2, %r3, {|!}%p1;",
      "selp.{b16|b32|b64|u16|s16|u32|s32|u64|s64|f32|f64} %t1, %t2, %t3, %p1;",
      "slct.{b16|b32|b64|u16|s16|u32|s32|u64|s64|f32|f64}.s32 %v1, %v2, %v3, %r4;",
      "slct{|.ftz}.{b32|u64|f32|f64}.f32 %v1, %v2, %v3, %f4;",
      // Moves and conversions.
      "mov.{u16|s16|b16|u32|s32|b32|u64|s64|b64|f32|f64|b128|pred} %t1, %t2;",
      "mov.b32 {%r1, \\{%h1, %h2\\}|\\{%h1, _\\}, %r1};",
      "mov.b64 {%d1, \\{%r1, %r2\\}|\\{%r1, %r2\\}, %d1|%d1, \\{%h1, %h2, %h3, %h4\\}|\\{%h1, %h2, %h3, %h4\\}, %d1};",
      "mov.b128 {%q1, \\{%d1, %d2\\}|\\{%d1, %d2\\}, %q1};", "mov.u64 %d1, {smem|smem+4|gvar};",
      "cvt.{u8|s8|u16|s16|u32|s32|u64|s64}.{u8|s8|u16|s16|u32|s32|u64|s64} %v1, %u2;",
      "cvt.{rni|rzi|rmi|rpi}{|.ftz}{|.sat}.{u8|s8|u16|s16|u32|s32|u64|s64}.f32 %v1, %f2;",
      "cvt.{rni|rzi|rmi|rpi}{|.sat}.{u8|s16|u32|s32|u64|s64}.{f16|f64} %v1, %u2;",
      "cvt.{rn|rz|rm|rp}{|.ftz}{|.sat}.f32.{u8|s8|u16|s16|u32|s32|u64|s64|f64} %f1, %u2;",
      "cvt.{rn|rz|rm|rp}{|.sat}.{f16|f64}.{u8|s8|u16|s16|u32|s32|u64|s64} %v1, %u2;",
      "cvt.{rn|rz|rm|rp}{|.ftz}{|.sat}.f16.f32 %h1, %f2;", "cvt.{rn|rz|rm|rp}{|.sat}.f16.f64 %h1, %fd2;",
      "cvt{|.ftz}{|.sat}.{f32|f64}.f32 %v1, %f2;", "cvt{|.ftz}{|.sat}.f32.f16 %f1, %h2;",
      "cvt{|.sat}.f64.{f16|f64} %fd1, %u2;", "cvt.{rni|rzi|rmi|rpi}{|.ftz}{|.sat}.f32.f32 %f1, %f2;",
      "cvt.{rni|rzi|rmi|rpi}{|.sat}.{f16|f64}.$ %v1, %v2;", "cvt.{rn|rz}{|.relu}{|.satfinite}.{f16|bf16}.f32 %h1, %f2;",
      "cvt.{rm|rp}.bf16.f32 %h1, %f2;", "cvt.f32.bf16 %f1, %h2;",
      "cvt.{rn|rz}{|.relu}{|.satfinite}.{f16x2|bf16x2}.f32 %r1, %f2, %f3;", "cvt.rna{|.satfinite}.tf32.f32 %r1, %f2;",
      "cvt.pack.sat.{u16|s16}.s32 %r1, %r2, %r3;", "cvt.pack.sat.{u2|s2|u4|s4|u8|s8}.s32.b32 %r1, %r2, %r3, %r4;",
      "cvta{|.to}.{global|shared|shared::cta|local|const|param}.u64 %d1, %d2;",
      "isspacep.{global|shared|shared::cta|local|const|param} %p1, %d1;",
      // Memory.
      "ld{|.weak|.volatile}{|.global|.shared|.shared::cta}{|.v2|.v4}.{u32|f32|b32} %ld;",
      "ld{|.weak}{.local|.const|.param}.{u8|s8|b8|u16|s16|b16|u32|s32|b32|f32|u64|s64|b64|f64} %t1, [%d1];",
      "ld{|.global|.shared|.local}.{ca|cg|cs|lu|cv}.u32 %r1, [%d1];",
      "ld.global{|.ca|.cg|.cs}.nc{|.v2|.v4}.{f32|u32} %ld;",
      "ld.global{|.nc}.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}{|.L2::64B|"
      ".L2::128B|.L2::256B}{|.v2|.v4}.{b32} %ld;",
      "ld.global{|.nc}{|.L1::no_allocate}.L2::cache_hint{|.L2::128B}.b32 %r1, [%d1], %d2;",
      "ld.{relaxed|acquire}.{cta|gpu|sys}{|.global|.shared}.u32 %r1, [%d1];",
      "ld.mmio.relaxed.sys{|.global}.u32 %r1, [%d1];", "ldu{|.global}{|.v2|.v4}.{u32|f32} %ld;",
      "st{|.weak|.volatile}{|.global|.shared|.shared::cta}{|.v2|.v4}.{u32|f32|b32} %st;",
      "st{|.weak}.local.{u8|s8|b8|u16|s16|b16|u32|s32|b32|f32|u64|s64|b64|f64} [%d1], %t1;",
      "st{|.global|.shared|.local}.{wb|cg|cs|wt}.u32 [%d1], %r1;",
      "st.global.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}{|.v2|.v4}.{b32} "
      "%st;",
      "st.global.L2::cache_hint.b32 [%d1], %r1, %d2;",
      "st.{relaxed|release}.{cta|gpu|sys}{|.global|.shared}.u32 [%d1], %r1;",
      "st.mmio.relaxed.sys{|.global}.u32 [%d1], %r1;", "prefetch{|.global|.local}.{L1|L2} [%d1];",
      "prefetch.global.{L2::evict_last|L2::evict_normal} [%d1];", "prefetchu.L1 [%d1];",
      "discard{|.global}.L2 [%d1], 128;", "applypriority{|.global}.L2::evict_normal [%d1], 128;",
      "createpolicy.fractional.{L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged}{|.L2::evict_first|"
      ".L2::evict_unchanged}.b64 %d1{|, 0.5};",
      "createpolicy.range{|.global}.L2::evict_last.L2::evict_unchanged.b64 %d1, [%d2], %r1, %r2;",
      "createpolicy.cvt.L2.b64 %d1, %d2;",
      "atom{|.relaxed|.acquire|.release|.acq_rel}{|.cta|.gpu|.sys}{|.global|.shared}.add.{u32|s32|u64|f32|f64} %t1, "
      "[%d1], %t2;",
      "atom{|.global|.shared}.{min|max}.{u32|s32|u64|s64} %t1, [%d1], %t2;",
      "atom.global.{and|or|xor|exch}.{b32|b64} %t1, [%d1], %t2;", "atom.shared.cas.{b16|b32|b64} %t1, [%d1], %t2, %t3;",
      "atom.global.{inc|dec}.u32 %r1, [%d1], %r2;",
      "{atom.global.add.noftz.f16x2 %r1, [%d1], %r2|red.shared.add.noftz.f16 [%d1], %h2};",
      "red{|.relaxed|.release}{|.cta|.gpu|.sys}{|.global|.shared}.add.{u32|s32|u64|f32|f64} [%d1], %t2;",
      "red.global.{and|or|xor}.{b32|b64} [%d1], %t2;", "red.global.{min|max}.{u32|s32|u64|s64} [%d1], %t2;",
      "red.global.{inc|dec}.u32 [%d1], %r2;",
      "{atom.global.add.L2::cache_hint.u32 %r1, |red.global.add.L2::cache_hint.u32 }[%d1], %r2, %d2;",
      // Warps, barriers, control.
      "shfl.sync.{up|down|bfly|idx}.b32 %r1{||%p1}, %r2, {%r3|5}, {%r4|0x1f}, {-1|%r5};",
      "vote.sync.{all|any|uni}.pred %p1, {|!}%p2, {-1|%r1};", "vote.sync.ballot.b32 %r1, {|!}%p2, -1;",
      "match.any.sync.{b32|b64} %r1, %t2, -1;", "match.all.sync.{b32|b64} %r1{||%p1}, %t2, %r3;",
      "redux.sync.{add|min|max}.{u32|s32} %r1, %r2, -1;", "redux.sync.{and|or|xor}.b32 %r1, %r2, -1;",
      "activemask.b32 %r1;", "{bar|bar.cta|barrier|barrier.cta|barrier.cta}.sync {0|%r1}{|, 64|, %r2};",
      "barrier{|.cta}.{sync|arrive}.aligned 1, 64;", "{bar|bar.cta|barrier}.arrive {1|%r1}, {64|%r2};",
      "{bar|bar.cta|barrier|barrier.cta}.red.popc.u32 %r1, 1{|, 64}, {|!}%p1;",
      "{bar|barrier}.red.{and|or}.pred %p1, 1{|, 64}, {|!}%p2;",
      "barrier.red.{and|or}.aligned.pred %p1, %r1, %r2, %p2;", "bar.warp.sync {-1|%r1};", "membar.{cta|gl|sys};",
      "membar.proxy.alias;", "fence{|.sc|.acq_rel|.acquire|.release}.{cta|gpu|sys};", "fence.proxy.alias;",
      "nanosleep.u32 {20|%r1};", "pmevent 7;", "pmevent.mask 0x81;", "{trap|brkpt|exit|ret|ret.uni};",
      "mov.u32 %r1, "
      "{%tid.x|%ntid.y|%ctaid.z|%nctaid.x|%laneid|%warpid|%nwarpid|%smid|%nsmid|%lanemask_eq|%lanemask_le|%lanemask_lt|"
      "%lanemask_ge|%lanemask_gt|%clock|%clock_hi|%pm0|%pm7|%envreg0|%envreg31|%globaltimer_lo|%globaltimer_hi|%total_"
      "smem_size|%dynamic_smem_size|%gridid|%reserved_smem_offset_begin|%reserved_smem_offset_cap};",
      "mov.u64 %d1, {%clock64|%globaltimer|%gridid|%pm0_64|%current_graph_exec};",
      "mov.v4.u32 \\{%r1, %r2, %r3, %r4\\}, {%tid|%ntid|%ctaid|%nctaid};"};
  return lines;
}

/// What sm_89 adds, and sm_86.
const List &adaGrammar() {
  static const List lines = {"{min|max}{|.ftz}{|.NaN}.xorsign.abs.f32 %f1, %f2, %f3;",
                             "{min|max}{|.ftz}{|.NaN}.xorsign.abs.{f16|f16x2} %t1, %t2, %t3;",
                             "{min|max}{|.NaN}.xorsign.abs.{bf16|bf16x2} %t1, %t2, %t3;",
                             "cvt.rn.satfinite{|.relu}.{e4m3x2|e5m2x2}.f32 %h1, %f2, %f3;",
                             "cvt.rn.satfinite{|.relu}.{e4m3x2|e5m2x2}.f16x2 %h1, %r2;",
                             "cvt.rn{|.relu}.f16x2.{e4m3x2|e5m2x2} %r1, %h2;"};
  return lines;
}

/// All texts of one line; the alternatives are those of the outermost braces, `\{` is a brace of the text.
List expand(const std::string &line) {
  List done{""};
  for (size_t at = 0; at < line.size(); ++at) {
    List choices;
    if (line[at] == '\\') {
      choices = {std::string(1, line[++at])};
    } else if (line[at] == '{') {
      size_t end = at + 1;
      std::string choice;
      for (bool predicate = false; line[end] != '}'; ++end) {
        if (line[end] == '\\')
          choice += std::string("\\") + line[++end];
        else if (line[end] == '|' && choice.empty() && line[end + 1] == '|') { // {||%p2}: nothing, or "|%p2"
          choices.push_back("");
          predicate = true;
        } else if (line[end] == '|' && predicate) {
          choice += '|';
          predicate = false;
        } else if (line[end] == '|') {
          choices.push_back(choice);
          choice.clear();
        } else {
          choice += line[end];
        }
      }
      choices.push_back(choice);
      for (std::string &c : choices)
        std::erase(c, '\\');
      at = end;
    } else {
      choices = {std::string(1, line[at])};
    }
    List next;
    for (const std::string &text : done)
      for (const std::string &choice : choices)
        next.push_back(text + choice);
    done = std::move(next);
  }
  return done;
}

std::string registerOf(std::string_view type) {
  return type == "pred"                                 ? "%p"
         : type == "f32"                                ? "%f"
         : type == "f64"                                ? "%fd"
         : type == "b128"                               ? "%q"
         : type.ends_with("64")                         ? "%d"
         : type.ends_with("x2") || type.ends_with("32") ? "%r"
                                                        : "%h";
}

void replace(std::string &text, std::string_view what, const std::string &by) {
  for (size_t at; (at = text.find(what)) != std::string::npos;)
    text.replace(at, what.size(), by);
}

/// %t: register of the only type, or the last one; %u of the last, %v of the last but one; %ld and %st whole operand
/// lists.
std::string fill(std::string text) {
  if (text.starts_with('.')) // "{…|}.cc": the branch without opcode
    return {};
  std::string mnemonic = text.substr(0, text.find(' '));
  List parts;
  std::stringstream stream(mnemonic);
  for (std::string part; std::getline(stream, part, '.');)
    parts.push_back(part);
  if (parts.back() == "$") {
    replace(text, "$", parts[parts.size() - 2]);
    parts.back() = parts[parts.size() - 2];
  }
  std::string last = registerOf(parts.back()), before = parts.size() > 2 ? registerOf(parts[parts.size() - 2]) : last;
  size_t vector = mnemonic.find(".v4") != std::string::npos ? 4 : mnemonic.find(".v2") != std::string::npos ? 2 : 1;
  std::string list = last + "1";
  for (size_t i = 2; i <= vector; ++i)
    list += ", " + last + std::to_string(i);
  if (vector > 1)
    list = "{" + list + "}";
  replace(text, "%ld", list + ", [%d1]");
  replace(text, "%st", "[%d1], " + list);
  if (text.find("%tid") == std::string::npos && text.find("%total") == std::string::npos)
    replace(text, "%t", last);
  replace(text, "%u", last);
  replace(text, "%v", before);
  return text;
}

List forms(const List &lines) {
  List all;
  std::set<std::string> seen;
  for (const std::string &line : lines)
    for (const std::string &text : expand(line))
      if (std::string form = fill(text); !form.empty() && seen.insert(form).second)
        all.push_back(form);
  return all;
}

std::string moduleOf(const List &instructions, std::string_view target) {
  std::string text = header(target, "9.0") +
                     ".shared .align 16 .b8 smem[1024];\n.global .align 16 .b8 gvar[64];\n.visible .entry k(.param "
                     ".u64 in)\n{\n.reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %d<20>; "
                     ".reg .f64 %fd<20>; .reg .b16 %h<20>; .reg .pred %p<9>; .reg .b128 %q<9>;\n";
  for (const std::string &instruction : instructions)
    text += instruction + "\n";
  return text + "ret;\n}\n";
}

} // namespace

TEST(SimulatorForms, EveryDocumentedFormLoads) {
  size_t count = 0;
  for (std::string_view target : {"sm_80", "sm_89"})
    for (const std::string &form : forms(target == "sm_80" ? grammar() : adaGrammar())) {
      EXPECT_EQ(loadError(moduleOf({form}, target), target == "sm_80" ? "a100" : "rtx4090"), "");
      ++count;
    }
  EXPECT_GT(count, 1800u) << "the grammar lost its lines";
}

#ifdef TESSERA_PTXAS
TEST(SimulatorForms, TheToolkitsAssemblerKnowsThemAll) {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("tessera-forms-{}", getpid());
  std::filesystem::create_directories(folder);
  for (std::string_view target : {"sm_80", "sm_89"}) {
    std::filesystem::path file = folder / fmt::format("{}.ptx", target), log = folder / "log";
    std::ofstream(file) << moduleOf(forms(target == "sm_80" ? grammar() : adaGrammar()), target);
    int status = std::system(fmt::format("'{}' -arch {} -O0 -w -o '{}' '{}' > '{}' 2>&1", TESSERA_PTXAS, target,
                                         (folder / "out").string(), file.string(), log.string())
                                 .c_str());
    std::stringstream text;
    text << std::ifstream(log).rdbuf();
    EXPECT_EQ(status, 0) << text.str().substr(0, 3000);
  }
  std::filesystem::remove_all(folder);
}
#endif

TEST(SimulatorForms, EveryOpcodeOfTheDecoderIsTested) {
  std::string tests;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(TESSERA_TEST_FOLDER))
    if (entry.is_regular_file() && entry.path().filename() != "FormsTest.cpp") {
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      tests += text.str();
    }
  auto opcodes = program::knownOpcodes();
  EXPECT_GT(opcodes.size(), 120u);
  for (std::string_view opcode : opcodes) {
    bool found = false;
    for (size_t at = 0; !found && (at = tests.find(opcode, at)) != std::string::npos; ++at) {
      auto isLetter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
      char after = tests[at + opcode.size()];
      // As an instruction or as the name in a table of names.
      found = !isLetter(tests[at - 1]) && tests[at - 1] != '.' &&
              (after == '.' || after == '"' || after == ' ' || after == ';' || after == '{');
    }
    EXPECT_TRUE(found) << "no test mentions '" << opcode << "'";
  }
}
