// The version of the library, checked against the one that the C header declares.
#include "tessera/tessera_c.h"

static_assert(TESSERA_VERSION_MAJOR == TESSERA_PROJECT_MAJOR && TESSERA_VERSION_MINOR == TESSERA_PROJECT_MINOR &&
                  TESSERA_VERSION_PATCH == TESSERA_PROJECT_PATCH,
              "tessera_c.h and the project's VERSION must agree");

const char *tessera_version(void) noexcept { return TESSERA_PROJECT_VERSION; }

uint32_t tessera_version_number(void) noexcept {
  return 10000 * TESSERA_VERSION_MAJOR + 100 * TESSERA_VERSION_MINOR + TESSERA_VERSION_PATCH;
}
