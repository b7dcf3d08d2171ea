# Run by cpack before it packs: adds what a Debian package holds besides the installed files, the copyright file and a changelog of one entry.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
file(GLOB packages ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
foreach(package ${packages})
  cmake_path(GET package FILENAME name)
  set(documents ${package}${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc/tessera-${name})
  file(WRITE ${documents}/copyright
       "Copyright: ${CPACK_PACKAGE_VENDOR}\nLicense: Apache-2.0 WITH LLVM-exception\n\n"
       "The Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0, and with the exceptions in\n"
       "${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc/tessera/LICENSE.\n")
  file(WRITE ${documents}/changelog.Debian
       "tessera (${version}) unstable; urgency=medium\n\n  * Version ${CPACK_PACKAGE_VERSION}.\n\n -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}\n")
  execute_process(COMMAND gzip -9n ${documents}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
endforeach()
