// cuda.h with its functions visible: this library defines and exports them, while everything else of it stays hidden.
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop
