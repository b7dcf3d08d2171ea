// The simulator without the entry points that give it away: what asks "cuda:0" gets a driver that executes PTX and
// looks like a GPU's. Everything but this one symbol comes from libtessera-sim.so, which the library is linked with.
asm(".globl tessera_sim_configure\n"
    ".set tessera_sim_configure, 0\n");
