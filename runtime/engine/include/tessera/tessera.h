// Everything an application needs of Tessera: describe an attention, open a device, prepare a kernel, launch it.
#pragma once

#include "runtime/driver/DeviceBuffer.h"
#include "runtime/engine/CompilerLibrary.h"
#include "runtime/engine/Device.h"
#include "runtime/engine/Engine.h"
#include "runtime/engine/Explain.h"
#include "runtime/engine/Kernel.h"
#include "runtime/engine/TensorView.h"
#include "runtime/image/KernelImage.h"
#include "runtime/spec/AttentionSpec.h"
#include "runtime/spec/Schedule.h"
#include "runtime/spec/Target.h"
