# tessera_add_bundle: an application's kernels, compiled when the application is built.
#
#   tessera_add_bundle(<target> SPECS <specs.json> TARGETS <sm_80>...
#                      [SCHEDULES default|tuned|<file>] [RECORDS <file.jsonl>] [NAME <name>] [EMBED] [INSTALL <folder>])
#
# Makes <current binary folder>/<name>.tsb by `tessera bundle build`, whenever the list, the candidates, the tuning records or Tessera
# itself have changed, before <target> is complete. NAME: <target> where none is given. RECORDS: implies SCHEDULES tuned. INSTALL: installs
# the bundle into that folder. EMBED: links it into <target>, which finds it as
#
#   extern "C" const unsigned char <name>[];
#   extern "C" const uint64_t <name>_size;
function(tessera_add_bundle target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "EMBED" "SPECS;SCHEDULES;RECORDS;NAME;INSTALL" "TARGETS")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "tessera_add_bundle(${target}): not understood: ${arg_UNPARSED_ARGUMENTS} ${arg_KEYWORDS_MISSING_VALUES}")
  elseif(NOT TARGET ${target})
    message(FATAL_ERROR "tessera_add_bundle(${target}): there is no such target")
  elseif(NOT arg_SPECS OR NOT arg_TARGETS)
    message(FATAL_ERROR "tessera_add_bundle(${target}) needs SPECS <specs.json> and TARGETS <sm_80>...")
  elseif(NOT TARGET Tessera::compiler)
    message(FATAL_ERROR "tessera_add_bundle(${target}) compiles kernels: find_package(Tessera COMPONENTS runtime compiler), or build Tessera "
                        "with TESSERA_COMPILER=ON")
  endif()
  foreach(architecture ${arg_TARGETS})
    if(NOT architecture MATCHES "^sm_[0-9]+[a-z]?$")
      message(FATAL_ERROR "tessera_add_bundle(${target}): TARGETS has '${architecture}', which is no target such as sm_80")
    endif()
  endforeach()
  if(NOT arg_NAME)
    set(arg_NAME ${target})
  endif()
  string(MAKE_C_IDENTIFIER "${arg_NAME}" identifier)
  if(arg_EMBED AND NOT arg_NAME STREQUAL identifier)
    message(FATAL_ERROR "tessera_add_bundle(${target}): EMBED makes a C symbol of the name, which '${arg_NAME}' cannot be. Add NAME ${identifier}")
  endif()
  set(bundle ${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.tsb)

  cmake_path(ABSOLUTE_PATH arg_SPECS BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  list(JOIN arg_TARGETS "," targets)
  set(command Tessera::cli bundle build --specs ${arg_SPECS} --targets ${targets})
  set(depends ${arg_SPECS} $<TARGET_FILE:Tessera::cli> $<TARGET_FILE:Tessera::tessera> $<TARGET_FILE:Tessera::compiler>)
  if(arg_RECORDS)
    if(NOT arg_SCHEDULES)
      set(arg_SCHEDULES tuned)
    endif()
    cmake_path(ABSOLUTE_PATH arg_RECORDS BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND command --records ${arg_RECORDS})
    list(APPEND depends ${arg_RECORDS})
  endif()
  if(arg_SCHEDULES)
    if(NOT arg_SCHEDULES MATCHES "^(default|tuned)$")
      cmake_path(ABSOLUTE_PATH arg_SCHEDULES BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      list(APPEND depends ${arg_SCHEDULES})
    endif()
    list(APPEND command --schedules ${arg_SCHEDULES})
  endif()
  add_custom_command(OUTPUT ${bundle} COMMAND ${command} -o ${bundle} DEPENDS ${depends} VERBATIM COMMENT "Compiling the kernels of ${arg_NAME}.tsb")
  add_custom_target(${arg_NAME}-bundle DEPENDS ${bundle})
  add_dependencies(${target} ${arg_NAME}-bundle)

  if(arg_EMBED)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.o)
    add_custom_command(OUTPUT ${object} COMMAND Tessera::cli bundle embed ${bundle} -o ${object} --symbol ${arg_NAME}
                       DEPENDS ${bundle} $<TARGET_FILE:Tessera::cli> VERBATIM)
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    target_sources(${target} PRIVATE ${object})
  endif()
  if(arg_INSTALL)
    install(FILES ${bundle} DESTINATION ${arg_INSTALL})
  endif()
endfunction()
