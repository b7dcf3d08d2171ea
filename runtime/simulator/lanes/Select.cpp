// The handler of an op in this instruction set; null for ops that the machine itself runs.
#include "runtime/simulator/lanes/Lanes.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

Handler select(const Op &op) {
  for (Handler (*family)(const Op &) :
       {selectMove, selectMemory, selectMatrixMemory, selectMatrix, selectWmma, selectWarp})
    if (Handler handler = family(op))
      return handler;
  if (op.code <= Opcode::Prmt || op.code == Opcode::PredLogic)
    return selectInteger(op);
  if (op.code >= Opcode::FAdd && op.code <= Opcode::Testp)
    return selectFloat(op);
  if (op.code >= Opcode::Set && op.code <= Opcode::Slct)
    return selectCompare(op);
  if (op.code == Opcode::Cvt || op.code == Opcode::CvtPack)
    return selectConvert(op);
  return nullptr;
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
