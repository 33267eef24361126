# What `cmake --install` brings: the public headers, one library that holds all rooms, the command, and what
# find_package(weft CONFIG) and pkg-config look for.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# libweft.a: the objects of every room that is a library and that programs can reach through include/weft.
set(objects "")
foreach(room wire nic bytecode kernels host native cm faults sim real_parts real)
  if(TARGET weft_${room})
    get_target_property(type weft_${room} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND objects $<TARGET_OBJECTS:weft_${room}>)
    endif()
  endif()
endforeach()
add_library(weft_package STATIC ${objects})
set_target_properties(weft_package PROPERTIES OUTPUT_NAME weft EXPORT_NAME weft LINKER_LANGUAGE CXX)
target_compile_features(weft_package INTERFACE cxx_std_20)
target_link_libraries(weft_package INTERFACE isal sodium)

install(TARGETS weft_package EXPORT weft ARCHIVE INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/weft" TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
foreach(program weft weft-broker)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME)
  endif()
endforeach()
# What `weft run` puts before programs, in lib/weft beside bin whatever the machine calls its library folder: weft finds
# it from its own place.
foreach(face weft_ibverbs weft_rdmacm weft_sysfs weft_bytecode_engine)
  if(TARGET ${face})
    install(TARGETS ${face} LIBRARY DESTINATION lib/weft NAMELINK_SKIP)
  endif()
endforeach()

# What programs link with that know of Weft (weft/dv.h).
if(TARGET weft_dv)
  install(TARGETS weft_dv EXPORT weft LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weft NAMESPACE weft:: FILE weft-targets.cmake DESTINATION ${package_dir})
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/weft-config.cmake.in" "${CMAKE_BINARY_DIR}/weft-config.cmake"
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/weft-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/weft-config.cmake" "${CMAKE_BINARY_DIR}/weft-config-version.cmake"
  DESTINATION ${package_dir})

file(RELATIVE_PATH WEFT_PREFIX_FROM_PC "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${CMAKE_CURRENT_LIST_DIR}/weft.pc.in" "${CMAKE_BINARY_DIR}/weft.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/weft.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
