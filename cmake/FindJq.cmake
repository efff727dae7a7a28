# Debian's libjq has neither a .pc file nor a CMake config. Defines Jq::Jq.
find_path(Jq_INCLUDE_DIR jq.h)
find_library(Jq_LIBRARY jq)
find_library(Jq_ONIG_LIBRARY onig)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Jq REQUIRED_VARS Jq_LIBRARY Jq_ONIG_LIBRARY Jq_INCLUDE_DIR)
if(Jq_FOUND AND NOT TARGET Jq::Jq)
  add_library(Jq::Jq INTERFACE IMPORTED)
  set_target_properties(Jq::Jq PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Jq_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${Jq_LIBRARY};${Jq_ONIG_LIBRARY}")
endif()
