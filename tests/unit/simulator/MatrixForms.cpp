// One product of one warp, packed and unpacked by the formulas of MmaForm.
#include "tests/unit/simulator/MatrixForms.h"

namespace tessera::sim::test {

std::string profileOf(std::string_view target) {
  return target.starts_with("sm_12")   ? "rtx5090"
         : target.starts_with("sm_10") ? "b200"
         : target.starts_with("sm_9")  ? "h100"
         : target == "sm_89"           ? "rtx4090"
         : target == "sm_86"           ? "rtx3090"
                                       : "a100";
}

namespace {
unsigned registersOf(unsigned elements, unsigned bits) { return elements / (bits >= 32 ? 1 : 32 / bits); }
std::string list(const char *name, unsigned n) {
  std::string text = "{";
  for (unsigned i = 0; i < n; ++i)
    text += fmt::format("{}%{}{}", i ? "," : "", name, i);
  return text + "}";
}
} // namespace

std::string productText(const MmaForm &form, std::string_view undefined) {
  unsigned word = form.bits == 64 ? 8 : 4, sum = form.sumBits == 64 ? 8 : 4;
  unsigned a = registersOf(form.aElements(), form.bits), b = registersOf(form.bElements(), form.bits),
           c = registersOf(form.sums(), form.sumBits);
  std::string ptx = header(form.target, form.version) +
                    fmt::format(".visible .entry k(.param .u64 in, .param .u64 out)\n{{\n.reg .b64 %in, %out, %t;\n"
                                ".reg .b32 %lane;\n.reg .pred %other;\n.reg .b{0} %a<8>, %b<4>;\n.reg .b{1} %c<4>;\n"
                                "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %lane, %laneid;\n"
                                "setp.ne.u32 %other, %lane, 13;\nmul.wide.u32 %t, %lane, 256;\nadd.u64 %in, %in, %t;\n"
                                "mul.wide.u32 %t, %lane, 64;\nadd.u64 %out, %out, %t;\n",
                                word * 8, sum * 8);
  auto loads = [&](const char *name, unsigned count, unsigned bytes, unsigned offset) {
    for (unsigned i = 0; i < count; ++i) {
      std::string reg = fmt::format("%{}{}", name, i);
      ptx += fmt::format("{}ld.global.b{} {}, [%in+{}];\n", reg == undefined ? "@%other " : "", bytes * 8, reg,
                         offset + i * bytes);
    }
  };
  loads("a", a, word, 0);
  loads("b", b, word, 128);
  loads("c", c, sum, 192);
  ptx += fmt::format("mma.sync.aligned.{}.row.col{} {}, {}, {}, {};\n", form.shape, form.types, list("c", c),
                     list("a", a), list("b", b), list("c", c));
  for (unsigned i = 0; i < c; ++i)
    ptx += fmt::format("st.global.b{} [%out+{}], %c{};\n", sum * 8, i * sum, i);
  return ptx + "ret;\n}\n";
}

std::vector<uint64_t> multiply(const MmaForm &form, const std::vector<uint64_t> &a, const std::vector<uint64_t> &b,
                               const std::vector<uint64_t> &c, Options options) {
  Machine machine(profileOf(form.target));
  machine.options = options;
  machine.load(productText(form));
  std::vector<uint64_t> in(32 * 32);
  auto put = [&](unsigned lane, unsigned byte, unsigned bits, unsigned i, uint64_t value) {
    unsigned bit = byte * 8 + i * bits;
    in[lane * 32 + bit / 64] |= value << bit % 64;
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < form.aElements(); ++i)
      put(lane, 0, form.bits, i, a[form.aRow(lane, i) * form.k + form.aColumn(lane, i)]);
    for (unsigned i = 0; i < form.bElements(); ++i)
      put(lane, 128, form.bits, i, b[form.bRow(lane, i) * 8 + MmaForm::bColumn(lane)]);
    for (unsigned i = 0; i < form.sums(); ++i)
      put(lane, 192, form.sumBits, i, c[MmaForm::cRow(lane, i) * 8 + MmaForm::cColumn(lane, i)]);
  }
  uint64_t pin = machine.upload(in), pout = machine.upload(std::vector<uint64_t>(32 * 8));
  expectClean(machine.run({1, 1, 1}, {32, 1, 1}, {pin, pout}));
  auto out = machine.download<uint64_t>(pout, 32 * 8);
  std::vector<uint64_t> d(form.m * 8);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < form.sums(); ++i) {
      unsigned bit = i * form.sumBits;
      uint64_t value = out[lane * 8 + bit / 64] >> bit % 64;
      d[MmaForm::cRow(lane, i) * 8 + MmaForm::cColumn(lane, i)] =
          form.sumBits == 64 ? value : value & ((uint64_t(1) << form.sumBits) - 1);
    }
  return d;
}

} // namespace tessera::sim::test
