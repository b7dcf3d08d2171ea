/* The C interface of Tessera: everything of tessera/tessera.h for C99 and for languages that call C.
 *
 * Errors.   A function that can fail returns a tessera_code and stores a sentence about the failure for the calling
 *           thread: tessera_last_error(), and often a remedy in tessera_last_hint(). No exception, no signal and no
 *           exit crosses this interface, except that a host without memory to read or write the metadata of a kernel
 *           image ends the process. What such a function would have returned through a pointer to a handle is
 *           NULL then. Where nothing else is said, a null pointer is TESSERA_INVALID_ARGUMENT.
 * Handles.  Opaque; released by the function that ends in _destroy, which takes NULL for nothing to do. Each keeps
 *           alive what it was made from, so they may be destroyed in any order.
 * Strings.  UTF-8, ended by a zero byte. What is passed in is copied. What comes out belongs to a handle and lives as
 *           long as that, except for the texts of the last error.
 * Structs.  The first member of a struct that may grow is its size as the caller was compiled. All other members 0 is
 *           the default, and TESSERA_..._INIT gives that. A smaller struct is an older caller's: what it lacks has its
 *           default. A larger one is a newer caller's: bytes that this library does not know must be 0, else the call
 *           is refused (TESSERA_UNSUPPORTED); where the library fills a struct, it sets them to 0.
 * Threads.  Devices, engines, kernels and texts are immutable or locked: any number of threads may use one. A buffer
 *           may be used by one thread at a time. Destroying is for one thread, when no other uses the handle.
 * Sizes     are bytes, extents and strides elements.
 */
#ifndef TESSERA_TESSERA_C_H
#define TESSERA_TESSERA_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TESSERA_NOEXCEPT noexcept
extern "C" {
#else
#define TESSERA_NOEXCEPT
#endif
#define TESSERA_C_API __attribute__((visibility("default")))

/* ---- Version ---- */

#define TESSERA_VERSION_MAJOR 0
#define TESSERA_VERSION_MINOR 1
#define TESSERA_VERSION_PATCH 0

/* Of the library that is loaded, "0.1.0" and 10000 * major + 100 * minor + patch; static storage. */
TESSERA_C_API const char *tessera_version(void) TESSERA_NOEXCEPT;
TESSERA_C_API uint32_t tessera_version_number(void) TESSERA_NOEXCEPT;

/* ---- Errors ---- */

typedef int32_t tessera_code;
enum {
  TESSERA_OK = 0,
  TESSERA_INVALID_ARGUMENT = 1, /* the caller's values are wrong; the message carries them */
  TESSERA_UNSUPPORTED = 2,      /* a valid request that Tessera cannot serve; the hint names the nearest that it can */
  TESSERA_NOT_FOUND = 3,        /* no such file, kernel or record */
  TESSERA_NO_DEVICE = 4,        /* no driver, no GPU, or none of the name asked for */
  TESSERA_FILE = 5,             /* a file could not be read or written, or its content is malformed */
  TESSERA_DRIVER_ERROR = 6,     /* the CUDA driver refused; the message names what was done and the CUresult */
  TESSERA_COMPILE_ERROR = 7,    /* the compiler refused; the message holds its diagnostics */
  TESSERA_INTERNAL = 8,         /* a defect of Tessera */
  TESSERA_OUT_OF_MEMORY = 9     /* of the host; that of the device is a TESSERA_DRIVER_ERROR */
};

/* "invalid argument", "out of memory", ...; "unknown code" for other numbers. Static storage. */
TESSERA_C_API const char *tessera_code_name(tessera_code code) TESSERA_NOEXCEPT;

/* What the last function of this thread that returns a tessera_code said about its failure, and a remedy; "" where it
 * succeeded, or there is no remedy. Valid until this thread calls the next such function. Never NULL. */
TESSERA_C_API const char *tessera_last_error(void) TESSERA_NOEXCEPT;
TESSERA_C_API const char *tessera_last_hint(void) TESSERA_NOEXCEPT;

/* ---- Texts ---- */

/* A string that the library made. */
typedef struct tessera_text tessera_text;

/* The characters, which live as long as the handle; "" for NULL. */
TESSERA_C_API const char *tessera_text_string(const tessera_text *text) TESSERA_NOEXCEPT;
TESSERA_C_API void tessera_text_destroy(tessera_text *text) TESSERA_NOEXCEPT;

/* ---- Devices ---- */

/* One GPU, or the simulator posing as one. */
typedef struct tessera_device tessera_device;

/* A CUstream or cudaStream_t of the device's context, of whoever made it; NULL is the default stream. */
typedef struct CUstream_st *tessera_stream;

typedef struct tessera_device_info {
  size_t size;
  const char *name;    /* as opened: "cuda:0". This and the next two belong to the device */
  const char *gpu;     /* as the driver calls it: "NVIDIA A100-SXM4-80GB" */
  const char *target;  /* what kernels for it are compiled for: "sm_80" */
  int32_t ordinal;     /* within its driver: the id that CUDA and DLPack give it */
  int32_t simulated;   /* 1: results and times come from the CPU */
  int32_t runs_cubins; /* 1: cubins of the target run as they are; 0: the driver assembles their PTX */
  uint32_t major;      /* compute capability */
  uint32_t minor;
  uint32_t sm_count;
  uint64_t memory_bytes;
  uint32_t shared_bytes_per_block; /* with opt-in */
  uint32_t shared_bytes_per_sm;
  uint32_t l2_bytes;
  uint32_t clock_khz;
  int32_t driver_version; /* CUDA version that the driver supports: 1000 * major + 10 * minor */
  uint32_t reserved;      /* 0 */
  uint8_t uuid[16];
} tessera_device_info;
#define TESSERA_DEVICE_INFO_INIT                                                                                       \
  {sizeof(tessera_device_info), NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}

/* "cuda:0" is the first GPU, "sim:a100" the simulator posing as an A100; there is no fallback from one to the other.
 * TESSERA_NO_DEVICE: no driver, or no such GPU; TESSERA_UNSUPPORTED: older than compute capability 8.0;
 * TESSERA_INVALID_ARGUMENT: no such kind of name. */
TESSERA_C_API tessera_code tessera_device_open(const char *name, tessera_device **device) TESSERA_NOEXCEPT;
TESSERA_C_API void tessera_device_destroy(tessera_device *device) TESSERA_NOEXCEPT;
TESSERA_C_API tessera_code tessera_device_get_info(const tessera_device *device,
                                                   tessera_device_info *info) TESSERA_NOEXCEPT;
/* Block until all work on the device, or in one stream of it, is done; TESSERA_DRIVER_ERROR: some of it failed. */
TESSERA_C_API tessera_code tessera_device_synchronize(const tessera_device *device) TESSERA_NOEXCEPT;
TESSERA_C_API tessera_code tessera_stream_synchronize(const tessera_device *device,
                                                      tessera_stream stream) TESSERA_NOEXCEPT;

/* ---- Buffers ---- */

/* Memory of one device. */
typedef struct tessera_buffer tessera_buffer;

/* Uninitialised; 0 bytes is a buffer with a null address. TESSERA_DRIVER_ERROR: the device has no room. */
TESSERA_C_API tessera_code tessera_buffer_allocate(const tessera_device *device, size_t bytes,
                                                   tessera_buffer **buffer) TESSERA_NOEXCEPT;
/* The memory is free at once: work that uses it must be done. */
TESSERA_C_API void tessera_buffer_destroy(tessera_buffer *buffer) TESSERA_NOEXCEPT;
/* Its address on the device, not to be read from the host, and its size; NULL and 0 for NULL. */
TESSERA_C_API void *tessera_buffer_data(const tessera_buffer *buffer) TESSERA_NOEXCEPT;
TESSERA_C_API size_t tessera_buffer_bytes(const tessera_buffer *buffer) TESSERA_NOEXCEPT;
/* Copy `bytes` from or to host memory, at `offset` in the buffer, and wait for it. The device's side is ordered after
 * the work of the default stream only. TESSERA_INVALID_ARGUMENT for a range beyond the buffer. */
TESSERA_C_API tessera_code tessera_buffer_upload(const tessera_buffer *buffer, const void *source, size_t bytes,
                                                 size_t offset) TESSERA_NOEXCEPT;
TESSERA_C_API tessera_code tessera_buffer_download(const tessera_buffer *buffer, void *destination, size_t bytes,
                                                   size_t offset) TESSERA_NOEXCEPT;
/* The same, and setting every byte, ordered in a stream; the host's memory must stay until the stream has passed. */
TESSERA_C_API tessera_code tessera_buffer_upload_async(const tessera_buffer *buffer, const void *source, size_t bytes,
                                                       size_t offset, tessera_stream stream) TESSERA_NOEXCEPT;
TESSERA_C_API tessera_code tessera_buffer_download_async(const tessera_buffer *buffer, void *destination, size_t bytes,
                                                         size_t offset, tessera_stream stream) TESSERA_NOEXCEPT;
TESSERA_C_API tessera_code tessera_buffer_fill_async(const tessera_buffer *buffer, uint8_t value,
                                                     tessera_stream stream) TESSERA_NOEXCEPT;

/* ---- What to compute ---- */

typedef int32_t tessera_dtype;
enum { TESSERA_F16 = 1, TESSERA_BF16 = 2, TESSERA_F32 = 3 };

enum {
  TESSERA_MASK_FULL = 0,   /* every key is visible */
  TESSERA_MASK_CAUSAL = 1, /* key j is visible to query row i iff j <= i + off */
  TESSERA_MASK_WINDOW = 2  /* iff i + off - window_left <= j <= i + off + window_right, both inclusive */
};
/* Which corner of the scores the diagonal goes through: off = 0, or keys - queries. Causal and window masks have to
 * say. */
enum { TESSERA_ALIGN_NONE = 0, TESSERA_ALIGN_TOP_LEFT = 1, TESSERA_ALIGN_BOTTOM_RIGHT = 2 };
/* A window bound that does not bound; any other negative one is refused. */
#define TESSERA_UNBOUNDED INT64_MIN

enum { TESSERA_OUTPUT_O = 1, TESSERA_OUTPUT_LSE = 2 }; /* bits */
/* How f32 operands reach the tensor cores: rounded to tf32, or as two tf32 parts each with an error like f32's. */
enum { TESSERA_PRECISION_TF32 = 0, TESSERA_PRECISION_PRECISE = 1 };

/* One attention, O = softmax(scale * Q K^T, capped and masked) V: all that changes the meaning or the code of a kernel.
 * Batch, head counts, lengths and strides are given at launch. */
typedef struct tessera_spec {
  size_t size;
  tessera_dtype dtype;     /* of q, k and v; has no default */
  tessera_dtype out_dtype; /* of o; 0: dtype */
  uint32_t head_dim;       /* of q and k: a multiple of 8, 8 to 256; has no default */
  uint32_t value_dim;      /* of v and o, likewise; 0: head_dim */
  int32_t mask;            /* TESSERA_MASK_... */
  int32_t align;           /* TESSERA_ALIGN_... */
  int64_t window_left;     /* TESSERA_MASK_WINDOW only, else 0 */
  int64_t window_right;
  int32_t has_scale;     /* 0: 1/sqrt(head_dim) */
  float scale;           /* 0 where has_scale is */
  int32_t has_softcap;   /* 1: scores become softcap * tanh(score / softcap) */
  float softcap;         /* positive; 0 where has_softcap is */
  uint32_t outputs;      /* TESSERA_OUTPUT_... bits; 0: O. O always, the LSE on request */
  int32_t precision;     /* TESSERA_PRECISION_...; f32 inputs only */
  uint32_t access_bytes; /* widest access that all tensors allow: 16, 8, 4, 2; 0: 16. See tessera_access_bytes */
  uint32_t reserved;     /* 0 */
} tessera_spec;
#define TESSERA_SPEC_INIT {sizeof(tessera_spec), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* TESSERA_INVALID_ARGUMENT or TESSERA_UNSUPPORTED, with the value, where a spec cannot be compiled. */
TESSERA_C_API tessera_code tessera_spec_validate(const tessera_spec *spec) TESSERA_NOEXCEPT;
/* The one canonical text of a valid spec; equal specs have equal texts. */
TESSERA_C_API tessera_code tessera_spec_to_text(const tessera_spec *spec, tessera_text **text) TESSERA_NOEXCEPT;
/* Fills *spec, whose size is set, from such a text. TESSERA_UNSUPPORTED: a smaller, older struct cannot hold it. */
TESSERA_C_API tessera_code tessera_spec_from_text(const char *text, tessera_spec *spec) TESSERA_NOEXCEPT;

/* The extents of a call. A kernel serves any; they guide the choice of its schedule. */
typedef struct tessera_problem {
  size_t size;
  int64_t batch;
  int64_t heads;    /* of the queries: a multiple of kv_heads */
  int64_t kv_heads; /* of keys and values; query head h reads kv head h / (heads / kv_heads) */
  int64_t seqlen_q;
  int64_t seqlen_kv;
} tessera_problem;
#define TESSERA_PROBLEM_INIT {sizeof(tessera_problem), 0, 0, 0, 0, 0}

/* ---- Engines ---- */

/* Turns specs into kernels and remembers them. */
typedef struct tessera_engine tessera_engine;
/* An attention compiled and loaded on a device. */
typedef struct tessera_kernel tessera_kernel;

enum {
  TESSERA_POLICY_JIT = 0,        /* bundles, memory, the disk cache, the compiler */
  TESSERA_POLICY_CACHE_ONLY = 1, /* never compiles */
  TESSERA_POLICY_BUNDLE_ONLY = 2 /* opened bundles; no cache, no compiler */
};
enum {
  TESSERA_CACHE_DEFAULT = 0, /* $TESSERA_CACHE, else read and write */
  TESSERA_CACHE_READ_WRITE = 1,
  TESSERA_CACHE_READ_ONLY = 2,
  TESSERA_CACHE_REFRESH = 3, /* every kernel is compiled anew, and its entry replaced */
  TESSERA_CACHE_OFF = 4
};

/* A bundle linked into the program; the bytes outlive the engine. Never grows. */
typedef struct tessera_embedded_bundle {
  const char *name; /* for messages */
  const void *data;
  size_t bytes;
} tessera_embedded_bundle;

/* Receives each warning once, from any thread. Must return, and must not call into the engine. */
typedef void (*tessera_warn)(const char *message, void *user);

typedef struct tessera_engine_options {
  size_t size;
  const char *const *bundles; /* paths, asked in this order */
  size_t bundle_count;
  const tessera_embedded_bundle *embedded_bundles; /* asked after the files */
  size_t embedded_bundle_count;
  const char *bundle_key;      /* line of a public key file: every bundle must be signed by it. NULL: need not be */
  const char *cache_directory; /* NULL: $TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else $HOME/.cache/tessera */
  uint64_t cache_bytes;        /* most that the cache may hold; 0: $TESSERA_CACHE_SIZE, else 1 GiB */
  int32_t cache_mode;          /* TESSERA_CACHE_... */
  int32_t policy;              /* TESSERA_POLICY_... */
  const char
      *compiler_library; /* path of libtessera-compiler.so; NULL: $TESSERA_COMPILER_LIBRARY, else it is searched */
  uint64_t max_kernels;  /* loaded kernels kept; the least recently used goes first. 0: 256 */
  tessera_warn warn;     /* NULL: stderr */
  void *warn_user;       /* passed to warn */
} tessera_engine_options;
#define TESSERA_ENGINE_OPTIONS_INIT                                                                                    \
  {sizeof(tessera_engine_options), NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0, NULL, 0, NULL, NULL}

typedef struct tessera_prepare_options {
  size_t size;
  const char *schedule;  /* canonical text: "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online"; NULL: chosen */
  tessera_stream stream; /* that will be launched in: while it captures a graph, what would have to load is refused */
} tessera_prepare_options;
#define TESSERA_PREPARE_OPTIONS_INIT {sizeof(tessera_prepare_options), NULL, NULL}

/* What an engine has done since it was created. */
typedef struct tessera_counters {
  size_t size;
  uint64_t memory_hits;    /* prepares answered by a loaded kernel, those that waited for another thread included */
  uint64_t bundle_hits;    /* kernels loaded from a bundle */
  uint64_t disk_hits;      /* kernels loaded from the disk cache */
  uint64_t compiles;       /* kernels compiled */
  uint64_t failures;       /* prepares that ended in an error */
  uint64_t bundle_misses;  /* requests that no opened bundle could serve */
  uint64_t evictions;      /* loaded kernels dropped to stay within max_kernels */
  uint64_t loaded_kernels; /* held in memory now */
  uint64_t cache_hits;     /* of the disk cache: entries read, and misses by reason */
  uint64_t cache_misses_off;
  uint64_t cache_misses_absent;
  uint64_t cache_misses_untrusted;
  uint64_t cache_misses_malformed;
  uint64_t cache_misses_other_key;
  uint64_t cache_misses_unreadable;
  uint64_t cache_stores; /* entries written */
  uint64_t cache_failed_stores;
  uint64_t cache_bytes_read;
  uint64_t cache_bytes_written;
  uint64_t cache_evictions; /* entries removed by trimming */
} tessera_counters;
#define TESSERA_COUNTERS_INIT {sizeof(tessera_counters), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* NULL options are the defaults. TESSERA_FILE or TESSERA_INVALID_ARGUMENT where a bundle cannot be opened or is not
 * signed as asked. The cache and the compiler library are opened by the first prepare that needs them. */
TESSERA_C_API tessera_code tessera_engine_create(const tessera_engine_options *options,
                                                 tessera_engine **engine) TESSERA_NOEXCEPT;
TESSERA_C_API void tessera_engine_destroy(tessera_engine *engine) TESSERA_NOEXCEPT;
/* The kernel of `spec` for `device`: from memory, else a bundle, the disk cache or the compiler, as the policy allows.
 * Any number of threads may ask for one key, it is made once; different keys are made in parallel. May compile, load,
 * allocate and wait, so it is refused while a graph is captured unless the kernel is in memory. NULL options are the
 * defaults. TESSERA_NOT_FOUND: nothing that the policy allows has it, with what comes nearest; TESSERA_UNSUPPORTED:
 * among others no compiler, or a schedule that is not legal; TESSERA_COMPILE_ERROR, TESSERA_DRIVER_ERROR. */
TESSERA_C_API tessera_code tessera_engine_prepare(const tessera_engine *engine, const tessera_spec *spec,
                                                  const tessera_problem *problem, const tessera_device *device,
                                                  const tessera_prepare_options *options,
                                                  tessera_kernel **kernel) TESSERA_NOEXCEPT;
/* Which schedule tessera_engine_prepare would take, why, and what it costs; compiles nothing. */
TESSERA_C_API tessera_code tessera_engine_explain(const tessera_engine *engine, const tessera_spec *spec,
                                                  const tessera_problem *problem, const tessera_device *device,
                                                  const tessera_prepare_options *options,
                                                  tessera_text **text) TESSERA_NOEXCEPT;
TESSERA_C_API tessera_code tessera_engine_get_counters(const tessera_engine *engine,
                                                       tessera_counters *counters) TESSERA_NOEXCEPT;

/* ---- Tensors ---- */

/* A tensor (batch, sequence, head, dim) in device memory; nothing is owned. The last dimension is contiguous. Strides
 * are never negative; 0 repeats an input along a dimension. The stride of a dimension of extent 1 has no meaning. Never
 * grows. */
typedef struct tessera_tensor {
  void *data; /* device address; may be NULL where an extent is 0 */
  tessera_dtype dtype;
  int32_t reserved; /* 0 */
  int64_t shape[4];
  int64_t strides[4];
} tessera_tensor;

/* One f32 for each (batch, head, sequence) in device memory, such as the LSE; otherwise like a tensor. */
typedef struct tessera_rows {
  float *data;
  int64_t shape[3];
  int64_t strides[3];
} tessera_rows;

/* Fill *tensor or *rows for dense memory: in the order of the dimensions (BSHD), or stored as (batch, head, sequence,
 * dim). TESSERA_INVALID_ARGUMENT for an unknown type, negative extents, and more than 2^63 bytes. */
TESSERA_C_API tessera_code tessera_tensor_contiguous(void *data, tessera_dtype dtype, int64_t batch, int64_t sequence,
                                                     int64_t heads, int64_t dim,
                                                     tessera_tensor *tensor) TESSERA_NOEXCEPT;
TESSERA_C_API tessera_code tessera_tensor_head_major(void *data, tessera_dtype dtype, int64_t batch, int64_t sequence,
                                                     int64_t heads, int64_t dim,
                                                     tessera_tensor *tensor) TESSERA_NOEXCEPT;
TESSERA_C_API tessera_code tessera_rows_contiguous(float *data, int64_t batch, int64_t heads, int64_t sequence,
                                                   tessera_rows *rows) TESSERA_NOEXCEPT;

/* Fill *tensor (4 dimensions) or *rows (3, f32) from a DLTensor of any DLPack version; for a managed one pass the
 * address of its dl_tensor. The tensor must be in memory of `device` (kDLCUDA of its ordinal, or kDLCUDAManaged), which
 * a simulated device poses as too. TESSERA_INVALID_ARGUMENT, with the value, for another device, rank or type, a last
 * dimension that is not contiguous, negative strides, and extents that leave 64 bits. Nothing is owned or consumed. */
TESSERA_C_API tessera_code tessera_tensor_from_dlpack(const tessera_device *device, const void *dltensor,
                                                      tessera_tensor *tensor) TESSERA_NOEXCEPT;
TESSERA_C_API tessera_code tessera_rows_from_dlpack(const tessera_device *device, const void *dltensor,
                                                    tessera_rows *rows) TESSERA_NOEXCEPT;

/* The widest access that the addresses and strides of these tensors allow, for tessera_spec.access_bytes: 16, 8, 4, 2,
 * or 1 where one is not even aligned to 2 bytes. */
TESSERA_C_API tessera_code tessera_access_bytes(const tessera_tensor *q, const tessera_tensor *k,
                                                const tessera_tensor *v, const tessera_tensor *o,
                                                uint32_t *bytes) TESSERA_NOEXCEPT;

/* ---- Kernels ---- */

typedef struct tessera_launch_arguments {
  size_t size;
  const tessera_tensor *q; /* (batch, seqlen_q, heads, head_dim) */
  const tessera_tensor *k; /* (batch, seqlen_kv, kv_heads, head_dim) */
  const tessera_tensor *v; /* (batch, seqlen_kv, kv_heads, value_dim) */
  const tessera_tensor *o; /* (batch, seqlen_q, heads, value_dim); written */
  const tessera_rows *lse; /* (batch, heads, seqlen_q), natural log; written. NULL where the spec's outputs lack it */
  uint32_t *rescues; /* device address of a counter to which an anchored schedule adds the query tiles that it had to do
                        again; NULL: not counted */
} tessera_launch_arguments;
#define TESSERA_LAUNCH_ARGUMENTS_INIT {sizeof(tessera_launch_arguments), NULL, NULL, NULL, NULL, NULL, NULL}

enum {
  TESSERA_SOURCE_COMPILER = 0, /* compiled by this prepare */
  TESSERA_SOURCE_MEMORY = 1,   /* prepared before, or at the same time by another thread */
  TESSERA_SOURCE_DISK = 2,     /* read from the disk cache */
  TESSERA_SOURCE_BUNDLE = 3,   /* read from a bundle */
  TESSERA_SOURCE_IMAGE = 4     /* tessera_kernel_load */
};

/* Where a kernel came from, what was chosen for it and what it costs. The strings belong to the kernel. */
typedef struct tessera_kernel_info {
  size_t size;
  const char *text; /* all of it for people, one fact a line */
  const char *spec; /* canonical text */
  const char *schedule;
  const char *schedule_reason; /* one sentence: default and why, tuned, or given by the caller */
  const char *target;          /* "sm_80" */
  const char *device;          /* "sim:a100 (NVIDIA A100...)" */
  const char *bundle;          /* path of the bundle that it came from; "": from none */
  const char *entry;           /* name of the kernel in its code */
  const char *code;            /* what was loaded: cubin, or PTX and who assembled it */
  const char *assembler;       /* "nvJitLink 13.0"; "": the driver's */
  const char *warnings;        /* of the compiler and of the driver's assembler */
  int32_t source;              /* TESSERA_SOURCE_... */
  uint32_t ptx_version;        /* 80 for PTX 8.0 */
  int32_t registers;           /* per thread; -1: not known. So for the next, and for blocks_per_sm */
  int32_t spill_bytes;         /* per thread */
  uint32_t shared_bytes;       /* dynamic, per block */
  uint32_t block_threads;
  int32_t blocks_per_sm; /* resident at once, as the driver says */
  int32_t origin;        /* where it came from first, when source is TESSERA_SOURCE_MEMORY; else source */
  double compile_ms;     /* of the compile that made it in this process; 0: none did */
  double read_ms;        /* of reading it from the bundle or the disk; 0: it was not read */
  double load_ms;        /* of loading it on the device */
} tessera_kernel_info;
/* clang-format off */
#define TESSERA_KERNEL_INFO_INIT                                                                                       \
  {sizeof(tessera_kernel_info), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,                      \
   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/* Loads a kernel image in its serialised form (`tessera compile`, `tessera bundle extract`), which is not trusted.
 * TESSERA_FILE: not an image, or damaged; TESSERA_UNSUPPORTED: the device cannot run it. */
TESSERA_C_API tessera_code tessera_kernel_load(const void *image, size_t bytes, const tessera_device *device,
                                               tessera_kernel **kernel) TESSERA_NOEXCEPT;
/* The code is unloaded when the engine that prepared it has let go of it too, and no launch needs it. */
TESSERA_C_API void tessera_kernel_destroy(tessera_kernel *kernel) TESSERA_NOEXCEPT;
/* Enqueues the attention in `stream` and returns without waiting; allocates, loads and blocks on nothing, so it may be
 * captured in a graph. An empty problem (batch, heads or seqlen_q of 0) launches nothing; without keys O is 0 and the
 * LSE -inf. TESSERA_INVALID_ARGUMENT with the tensor, the value and the remedy where one does not fit the spec. */
TESSERA_C_API tessera_code tessera_kernel_launch(const tessera_kernel *kernel,
                                                 const tessera_launch_arguments *arguments,
                                                 tessera_stream stream) TESSERA_NOEXCEPT;
TESSERA_C_API tessera_code tessera_kernel_get_info(const tessera_kernel *kernel,
                                                   tessera_kernel_info *info) TESSERA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
