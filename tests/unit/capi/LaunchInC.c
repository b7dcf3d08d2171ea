/* An attention in strict C99, from the device to the counters; EngineTest.cpp calls it and looks at what the driver
 * got. */
#include "tessera/tessera_c.h"

#include <string.h>

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      failed = #condition;                                                                                             \
      goto done;                                                                                                       \
    }                                                                                                                  \
  } while (0)

enum { BATCH = 2, HEADS = 6, KV_HEADS = 3, SEQLEN_Q = 200, SEQLEN_KV = 77, DIM = 64 };

/* The condition that did not hold, or NULL. `addresses` receives those of q, k, v, o and the LSE. */
const char *launchInC(const char *deviceName, void *addresses[5]);

const char *launchInC(const char *deviceName, void *addresses[5]) {
  const char *failed = NULL;
  const size_t bytes[5] = {2u * BATCH * SEQLEN_Q * HEADS * DIM, 2u * BATCH * SEQLEN_KV * KV_HEADS * DIM,
                           2u * BATCH * SEQLEN_KV * KV_HEADS * DIM, 2u * BATCH * SEQLEN_Q * HEADS * DIM,
                           4u * BATCH * HEADS * SEQLEN_Q};
  tessera_device *device = NULL;
  tessera_engine *engine = NULL;
  tessera_kernel *kernel = NULL;
  tessera_text *text = NULL;
  tessera_buffer *buffers[5] = {NULL, NULL, NULL, NULL, NULL};
  tessera_tensor q, k, v, o;
  tessera_rows lse;
  tessera_spec spec = TESSERA_SPEC_INIT;
  tessera_problem problem = TESSERA_PROBLEM_INIT;
  tessera_device_info deviceInfo = TESSERA_DEVICE_INFO_INIT;
  tessera_kernel_info kernelInfo = TESSERA_KERNEL_INFO_INIT;
  tessera_engine_options options = TESSERA_ENGINE_OPTIONS_INIT;
  tessera_prepare_options prepareOptions = TESSERA_PREPARE_OPTIONS_INIT;
  tessera_launch_arguments arguments = TESSERA_LAUNCH_ARGUMENTS_INIT;
  tessera_counters counters = TESSERA_COUNTERS_INIT;
  uint32_t access = 0;
  int i;

  CHECK(tessera_version_number() ==
        10000 * TESSERA_VERSION_MAJOR + 100 * TESSERA_VERSION_MINOR + TESSERA_VERSION_PATCH);
  CHECK(tessera_device_open(deviceName, &device) == TESSERA_OK);
  CHECK(tessera_device_get_info(device, &deviceInfo) == TESSERA_OK);
  CHECK(strcmp(deviceInfo.name, deviceName) == 0 && strcmp(deviceInfo.target, "sm_80") == 0);
  for (i = 0; i < 5; ++i) {
    CHECK(tessera_buffer_allocate(device, bytes[i], &buffers[i]) == TESSERA_OK);
    CHECK(tessera_buffer_bytes(buffers[i]) == bytes[i]);
    addresses[i] = tessera_buffer_data(buffers[i]);
  }
  CHECK(tessera_tensor_contiguous(addresses[0], TESSERA_F16, BATCH, SEQLEN_Q, HEADS, DIM, &q) == TESSERA_OK);
  CHECK(tessera_tensor_contiguous(addresses[1], TESSERA_F16, BATCH, SEQLEN_KV, KV_HEADS, DIM, &k) == TESSERA_OK);
  CHECK(tessera_tensor_head_major(addresses[2], TESSERA_F16, BATCH, SEQLEN_KV, KV_HEADS, DIM, &v) == TESSERA_OK);
  CHECK(tessera_tensor_contiguous(addresses[3], TESSERA_F16, BATCH, SEQLEN_Q, HEADS, DIM, &o) == TESSERA_OK);
  CHECK(tessera_rows_contiguous((float *)addresses[4], BATCH, HEADS, SEQLEN_Q, &lse) == TESSERA_OK);
  CHECK(tessera_access_bytes(&q, &k, &v, &o, &access) == TESSERA_OK);

  spec.dtype = TESSERA_F16;
  spec.head_dim = DIM;
  spec.mask = TESSERA_MASK_CAUSAL;
  spec.align = TESSERA_ALIGN_BOTTOM_RIGHT;
  spec.outputs = TESSERA_OUTPUT_O | TESSERA_OUTPUT_LSE;
  spec.access_bytes = access;
  problem.batch = BATCH;
  problem.heads = HEADS;
  problem.kv_heads = KV_HEADS;
  problem.seqlen_q = SEQLEN_Q;
  problem.seqlen_kv = SEQLEN_KV;
  options.cache_mode = TESSERA_CACHE_OFF;
  prepareOptions.schedule = "v1:q64,kv32,w4,s1,lazy8,add,qsmem,online";
  CHECK(tessera_engine_create(&options, &engine) == TESSERA_OK);
  CHECK(tessera_engine_explain(engine, &spec, &problem, device, NULL, &text) == TESSERA_OK);
  CHECK(strstr(tessera_text_string(text), "schedule") != NULL);
  CHECK(tessera_engine_prepare(engine, &spec, &problem, device, &prepareOptions, &kernel) == TESSERA_OK);
  CHECK(tessera_kernel_get_info(kernel, &kernelInfo) == TESSERA_OK);
  CHECK(strcmp(kernelInfo.schedule, prepareOptions.schedule) == 0);
  CHECK(kernelInfo.source == TESSERA_SOURCE_COMPILER && kernelInfo.block_threads == 128);

  arguments.q = &q;
  arguments.k = &k;
  arguments.v = &v;
  arguments.o = &o;
  arguments.lse = &lse;
  CHECK(tessera_kernel_launch(kernel, &arguments, NULL) == TESSERA_OK);
  CHECK(tessera_device_synchronize(device) == TESSERA_OK);
  CHECK(tessera_engine_get_counters(engine, &counters) == TESSERA_OK);
  CHECK(counters.compiles == 1 && counters.loaded_kernels == 1 && counters.memory_hits == 0);
  CHECK(strcmp(tessera_last_error(), "") == 0);

done:
  /* Before what they were made from and after it. */
  tessera_device_destroy(device);
  tessera_engine_destroy(engine);
  tessera_kernel_destroy(kernel);
  tessera_text_destroy(text);
  for (i = 0; i < 5; ++i)
    tessera_buffer_destroy(buffers[i]);
  return failed;
}
