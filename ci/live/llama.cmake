# The settings of a build of libllama, for ci/live/llama.sh and for the bundle of ci/live/gpu.sh: cmake -C ci/live/llama.cmake.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_INSTALL_LIBDIR lib CACHE STRING "")
set(CMAKE_INSTALL_RPATH "$ORIGIN" CACHE STRING "")
set(BUILD_SHARED_LIBS ON CACHE BOOL "")
foreach(part COMMON TESTS TOOLS EXAMPLES SERVER APP)
  set(LLAMA_BUILD_${part} OFF CACHE BOOL "")
endforeach()
set(LLAMA_CURL OFF CACHE BOOL "")
# For any machine with AVX2, not for the one that builds: a virtual one may name AMX and not run it.
set(GGML_NATIVE OFF CACHE BOOL "")
