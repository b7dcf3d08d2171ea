/* A whole application in C: attention over values that are all 1 is 1 everywhere, whatever the weights. */
#include <tessera/tessera_c.h>

#include <stdio.h>

enum { seqlen = 70, dim = 64, count = seqlen * dim, bf16One = 0x3f80, bf16Half = 0x3f00 };

static int failed(const char *doing, tessera_code code) {
  if (code != TESSERA_OK)
    fprintf(stderr, "%s: %s: %s (%s)\n", doing, tessera_code_name(code), tessera_last_error(), tessera_last_hint());
  return code != TESSERA_OK;
}

static tessera_buffer *filled(const tessera_device *device, uint16_t value, tessera_tensor *tensor) {
  static uint16_t host[count];
  for (int i = 0; i < count; ++i)
    host[i] = value;
  tessera_buffer *buffer = NULL;
  if (failed("allocating", tessera_buffer_allocate(device, sizeof host, &buffer)) ||
      failed("uploading", tessera_buffer_upload(buffer, host, sizeof host, 0)) ||
      failed("describing",
             tessera_tensor_contiguous(tessera_buffer_data(buffer), TESSERA_BF16, 1, seqlen, 1, dim, tensor)))
    return NULL;
  return buffer;
}

int main(void) {
  tessera_device *device = NULL;
  tessera_engine *engine = NULL;
  tessera_kernel *kernel = NULL;
  tessera_spec spec = TESSERA_SPEC_INIT;
  spec.dtype = TESSERA_BF16;
  spec.head_dim = dim;
  tessera_problem problem = TESSERA_PROBLEM_INIT;
  problem.batch = problem.heads = problem.kv_heads = 1;
  problem.seqlen_q = problem.seqlen_kv = seqlen;
  if (failed("opening", tessera_device_open("sim:a100", &device)) ||
      failed("creating", tessera_engine_create(NULL, &engine)) ||
      failed("preparing", tessera_engine_prepare(engine, &spec, &problem, device, NULL, &kernel)))
    return 1;

  tessera_tensor keys, values, output;
  tessera_buffer *keyBuffer = filled(device, bf16Half, &keys), *valueBuffer = filled(device, bf16One, &values),
                 *outputBuffer = filled(device, 0, &output);
  if (!keyBuffer || !valueBuffer || !outputBuffer)
    return 1;
  tessera_launch_arguments arguments = TESSERA_LAUNCH_ARGUMENTS_INIT;
  arguments.q = arguments.k = &keys;
  arguments.v = &values;
  arguments.o = &output;
  static uint16_t answer[count];
  if (failed("launching", tessera_kernel_launch(kernel, &arguments, NULL)) ||
      failed("waiting", tessera_device_synchronize(device)) ||
      failed("downloading", tessera_buffer_download(outputBuffer, answer, sizeof answer, 0)))
    return 1;
  int wrong = 0;
  for (int i = 0; i < count; ++i)
    wrong += answer[i] != bf16One;
  tessera_buffer_destroy(keyBuffer);
  tessera_buffer_destroy(valueBuffer);
  tessera_buffer_destroy(outputBuffer);
  tessera_kernel_destroy(kernel);
  tessera_engine_destroy(engine);
  tessera_device_destroy(device);
  printf("Tessera %s: %d of %d values are wrong\n", tessera_version(), wrong, (int)count);
  return wrong != 0;
}
