# cmake --install: components runtime, compiler and development. The tree may be moved as a whole afterwards.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
foreach(folder BINDIR LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    message(FATAL_ERROR "CMAKE_INSTALL_${folder} is ${CMAKE_INSTALL_${folder}}; what is installed finds its parts from where it lies, "
                        "so give a folder relative to the prefix, or set TESSERA_INSTALL=OFF.")
  endif()
endforeach()
set(documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/tessera)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Tessera)

# runtime: the library, the simulator (also as the driver of a program that knows nothing of Tessera) and the program.
file(RELATIVE_PATH fromProgram ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(tessera-runtime tessera-sim PROPERTIES INSTALL_RPATH "$ORIGIN")
set_target_properties(tessera PROPERTIES INSTALL_RPATH "$ORIGIN/${fromProgram}" EXPORT_NAME cli)
set_target_properties(tessera-runtime PROPERTIES EXPORT_NAME tessera)
install(TARGETS tessera-runtime EXPORT TesseraRuntime
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${CMAKE_INSTALL_INCLUDEDIR}/tessera)
install(TARGETS tessera EXPORT TesseraRuntime RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/autotune/recipes/gnu-parallel.sh ${PROJECT_SOURCE_DIR}/autotune/recipes/slurm-array.sh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera/recipes COMPONENT runtime)
install(TARGETS tessera-sim LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
file(CREATE_LINK ../../libtessera-sim.so ${CMAKE_CURRENT_BINARY_DIR}/libcuda.so.1 SYMBOLIC)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/libcuda.so.1 DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera/sim COMPONENT runtime)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${documents} COMPONENT runtime)

# compiler: the library beside libtessera.so. A distribution may keep libMLIR in a folder of its own, outside the loader's path.
if(TESSERA_COMPILER)
  set(TESSERA_LLVM_RPATH ${LLVM_LIBRARY_DIR} CACHE STRING "Where the installed compiler library looks for libMLIR and libLLVM after its own folder")
  set_target_properties(tessera-compiler PROPERTIES INSTALL_RPATH "$ORIGIN;${TESSERA_LLVM_RPATH}" EXPORT_NAME compiler)
  install(TARGETS tessera-compiler EXPORT TesseraCompiler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler)
  install(EXPORT TesseraCompiler NAMESPACE Tessera:: DESTINATION ${package} COMPONENT compiler)
endif()

# development: the headers that <tessera/...> reaches, the CMake package, pkg-config.
install(CODE "set(source [[${PROJECT_SOURCE_DIR}]])\nset(includes [[${CMAKE_INSTALL_INCLUDEDIR}]])" COMPONENT development)
install(SCRIPT InstallHeaders.cmake COMPONENT development)
install(EXPORT TesseraRuntime NAMESPACE Tessera:: DESTINATION ${package} COMPONENT development)
configure_package_config_file(TesseraConfig.cmake.in TesseraConfig.cmake INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/TesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES TesseraBundle.cmake ${CMAKE_CURRENT_BINARY_DIR}/TesseraConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/TesseraConfigVersion.cmake
        DESTINATION ${package} COMPONENT development)
string(REGEX REPLACE "[^/]+" ".." fromPkgConfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_file(tessera.pc.in tessera.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
