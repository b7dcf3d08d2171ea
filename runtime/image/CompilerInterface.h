/* The C ABI of libtessera-compiler.so: canonical texts in, image bytes or text out. The runtime opens the library by
 * name and resolves these symbols; nothing of MLIR or LLVM crosses. Thread-safe: every call builds its own contexts. */
#ifndef TESSERA_COMPILER_INTERFACE_H
#define TESSERA_COMPILER_INTERFACE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes owned by the library; release with tessera_compiler_release. Texts end in a zero byte that size does not count.
 */
typedef struct tessera_compiler_blob {
  char *data;
  size_t size;
} tessera_compiler_blob;

typedef struct tessera_compile_request {
  size_t size;                /* sizeof(tessera_compile_request) of the caller */
  const char *spec;           /* AttentionSpec::text() */
  const char *schedule;       /* Schedule::text() */
  const char *target;         /* "sm_80" */
  const char *emit;           /* "image", or a stage: attn tiled online scheduled nvvm llvm ptx cubin; NULL: image */
  const char *stages_dir;     /* existing folder that receives every stage's file; NULL: none */
  const char *override_stage; /* attn tiled online scheduled nvvm llvm ptx: replaced by the content of override_file;
                                 NULL: none */
  const char *override_file;
  const char *mutate; /* tests only: a deliberate fault of a pass ("no-rescale-u", ...); NULL: none */
} tessera_compile_request;

typedef enum tessera_compile_code {
  TESSERA_COMPILE_OK = 0,
  TESSERA_COMPILE_INVALID_ARGUMENT = 1,
  TESSERA_COMPILE_UNSUPPORTED = 2,
  TESSERA_COMPILE_FILE = 3,
  TESSERA_COMPILE_FAILED = 4 /* a diagnostic of a pass or of the assembler */
} tessera_compile_code;

/* The result (image bytes or the text of a stage) in *result, or a message in *error. Either may be empty; both are to
 * be released. With a code of OK, *error may hold warnings ("no nvJitLink: the image holds PTX only"). */
tessera_compile_code tessera_compile(const tessera_compile_request *request, tessera_compiler_blob *result,
                                     tessera_compiler_blob *error);

/* Content hash of this build of the compiler, part of every cache key; static storage. */
const char *tessera_compiler_build_id(void);

/* The assembler that cubins come from, e.g. "nvJitLink 13.0", or "none" with the reason; static storage. */
const char *tessera_compiler_assembler(void);

/* The file that the assembler was loaded from, empty where there is none; static storage. Whoever remembers what
 * tessera_compiler_assembler() said remembers it for this file. */
const char *tessera_compiler_assembler_path(void);

void tessera_compiler_release(tessera_compiler_blob *blob);

#ifdef __cplusplus
}
#endif

#endif
