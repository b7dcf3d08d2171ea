/* A causal attention from the description to a checked answer, in C. Usage: attention-c [DEVICE], "cuda:0" or
 * "sim:a100". */
#include <tessera/tessera_c.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1, HEADS = 4, KV_HEADS = 2, SEQLEN_Q = 100, SEQLEN_KV = 150, DIM = 64 };
enum { QUERIES = BATCH * SEQLEN_Q * HEADS * DIM, KEYS = BATCH * SEQLEN_KV * KV_HEADS * DIM };

/* The end of the program, with the reason, where a call has failed. */
static void orExit(tessera_code code) {
  if (code == TESSERA_OK)
    return;
  fprintf(stderr, "%s: %s\n", tessera_code_name(code), tessera_last_error());
  if (*tessera_last_hint())
    fprintf(stderr, "  hint: %s\n", tessera_last_hint());
  exit(1);
}

/* bf16 is the upper half of an f32. */
static uint16_t toBf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}
static double toDouble(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Values spread over [-2, 2) by a linear congruence. */
static void fillRandom(uint16_t *values, size_t count, uint32_t seed) {
  size_t i;
  for (i = 0; i < count; ++i) {
    seed = 1664525u * seed + 1013904223u;
    values[i] = toBf16((float)(seed >> 8) / (1 << 22) - 2.0f);
  }
}

static tessera_buffer *upload(const tessera_device *device, const uint16_t *values, size_t count) {
  tessera_buffer *buffer;
  orExit(tessera_buffer_allocate(device, count * sizeof *values, &buffer));
  orExit(tessera_buffer_upload(buffer, values, count * sizeof *values, 0));
  return buffer;
}

static uint16_t q[QUERIES], k[KEYS], v[KEYS], o[QUERIES];

/* The largest error in one row, against the same in double. Query row i sees the keys up to i + SEQLEN_KV - SEQLEN_Q.
 */
static double rowError(int row, int head) {
  const int kvHead = head / (HEADS / KV_HEADS), last = row + SEQLEN_KV - SEQLEN_Q;
  const uint16_t *query = q + (row * HEADS + head) * DIM, *out = o + (row * HEADS + head) * DIM;
  double sum[DIM] = {0}, weights = 0, error = 0;
  int j, c;
  for (j = 0; j <= last; ++j) {
    const uint16_t *key = k + (j * KV_HEADS + kvHead) * DIM, *value = v + (j * KV_HEADS + kvHead) * DIM;
    double score = 0, weight;
    for (c = 0; c < DIM; ++c)
      score += toDouble(query[c]) * toDouble(key[c]);
    weight = exp(score / sqrt(DIM));
    weights += weight;
    for (c = 0; c < DIM; ++c)
      sum[c] += weight * toDouble(value[c]);
  }
  for (c = 0; c < DIM; ++c)
    error = fmax(error, fabs(toDouble(out[c]) - sum[c] / weights));
  return error;
}

int main(int argc, char **argv) {
  tessera_spec spec = TESSERA_SPEC_INIT;
  tessera_problem problem = TESSERA_PROBLEM_INIT;
  tessera_kernel_info info = TESSERA_KERNEL_INFO_INIT;
  tessera_launch_arguments arguments = TESSERA_LAUNCH_ARGUMENTS_INIT;
  tessera_device *device;
  tessera_engine *engine;
  tessera_kernel *kernel;
  tessera_buffer *deviceQ, *deviceK, *deviceV, *deviceO;
  tessera_tensor tensorQ, tensorK, tensorV, tensorO;
  const double bound = 0.01; /* two roundings to bf16 of values below 2 */
  double error;

  /* What: everything that changes the meaning of the kernel. Lengths, batch and head counts are given at launch. */
  spec.dtype = TESSERA_BF16;
  spec.head_dim = DIM;
  spec.mask = TESSERA_MASK_CAUSAL;
  spec.align = TESSERA_ALIGN_BOTTOM_RIGHT;

  /* Where: a device by name. Tessera never replaces a GPU by its simulator on its own. */
  orExit(tessera_device_open(argc > 1 ? argv[1] : "cuda:0", &device));

  /* How: the engine chooses a schedule, compiles (or remembers) the kernel and says what it did. */
  problem.batch = BATCH;
  problem.heads = HEADS;
  problem.kv_heads = KV_HEADS;
  problem.seqlen_q = SEQLEN_Q;
  problem.seqlen_kv = SEQLEN_KV;
  orExit(tessera_engine_create(NULL, &engine));
  orExit(tessera_engine_prepare(engine, &spec, &problem, device, NULL, &kernel));
  orExit(tessera_kernel_get_info(kernel, &info));
  printf("%s", info.text);

  /* Tensors (batch, sequence, head, dim) in memory of the device. */
  fillRandom(q, QUERIES, 1);
  fillRandom(k, KEYS, 2);
  fillRandom(v, KEYS, 3);
  deviceQ = upload(device, q, QUERIES);
  deviceK = upload(device, k, KEYS);
  deviceV = upload(device, v, KEYS);
  deviceO = upload(device, o, QUERIES);
  orExit(tessera_tensor_contiguous(tessera_buffer_data(deviceQ), TESSERA_BF16, BATCH, SEQLEN_Q, HEADS, DIM, &tensorQ));
  orExit(
      tessera_tensor_contiguous(tessera_buffer_data(deviceK), TESSERA_BF16, BATCH, SEQLEN_KV, KV_HEADS, DIM, &tensorK));
  orExit(
      tessera_tensor_contiguous(tessera_buffer_data(deviceV), TESSERA_BF16, BATCH, SEQLEN_KV, KV_HEADS, DIM, &tensorV));
  orExit(tessera_tensor_contiguous(tessera_buffer_data(deviceO), TESSERA_BF16, BATCH, SEQLEN_Q, HEADS, DIM, &tensorO));
  arguments.q = &tensorQ;
  arguments.k = &tensorK;
  arguments.v = &tensorV;
  arguments.o = &tensorO;
  orExit(tessera_kernel_launch(kernel, &arguments, /*stream=*/NULL));
  orExit(tessera_device_synchronize(device));
  orExit(tessera_buffer_download(deviceO, o, sizeof o, 0));

  error = rowError(42, 3);
  printf("largest error in row 42 of head 3: %.2e, at most %.2e\n", error, bound);

  tessera_buffer_destroy(deviceQ);
  tessera_buffer_destroy(deviceK);
  tessera_buffer_destroy(deviceV);
  tessera_buffer_destroy(deviceO);
  tessera_kernel_destroy(kernel);
  tessera_engine_destroy(engine);
  tessera_device_destroy(device);
  return error <= bound ? 0 : 1;
}
