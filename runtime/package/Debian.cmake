# The Debian packages tessera-runtime (with the headers, CMake and pkg-config files) and tessera-compiler: `cpack` in the build folder.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_VENDOR "the Tessera authors")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/DebianDocuments.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "the Tessera authors <maintainers@tessera.invalid>" CACHE STRING "Maintainer field of the Debian packages")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME tessera-runtime)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "tessera-compiler, libfmt-dev")
# What others that link libtessera.so depend on; another minor version is another ABI while the version is 0.x.
math(EXPR nextMinor "${PROJECT_VERSION_MINOR} + 1")
set(nextMinor ${PROJECT_VERSION_MAJOR}.${nextMinor})
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/shlibs
     "libtessera ${PROJECT_VERSION_MAJOR} tessera-runtime (>= ${PROJECT_VERSION}), tessera-runtime (<< ${nextMinor}~)\n")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/shlibs ${CMAKE_CURRENT_BINARY_DIR}/triggers)
set(CPACK_DEBIAN_COMPILER_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/triggers)
set(CPACK_DEBIAN_COMPILER_PACKAGE_NAME tessera-compiler)
set(CPACK_DEBIAN_COMPILER_PACKAGE_DEPENDS "tessera-runtime (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
# The first line of a description is the summary; CPack would put the project's in front.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "attention kernels for applications - runtime
Tessera describes, prepares and launches attention kernels on NVIDIA GPUs.
This package holds the library that an application links, its headers, a
simulator that runs the kernels on the CPU, and the program tessera. Kernels
come from bundles that applications ship, from a cache, or from the package
tessera-compiler.")
set(CPACK_DEBIAN_COMPILER_DESCRIPTION "attention kernels for applications - compiler
Tessera describes, prepares and launches attention kernels on NVIDIA GPUs.
This package holds the compiler, which the runtime opens to make the kernels
that neither a bundle nor the cache has.")

set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL runtime development compiler)
if(NOT TESSERA_COMPILER)
  list(REMOVE_ITEM CPACK_COMPONENTS_ALL compiler)
endif()
include(CPack)
cpack_add_component(runtime GROUP runtime)
cpack_add_component(development GROUP runtime)
cpack_add_component(compiler GROUP compiler)
