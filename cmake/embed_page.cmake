# Writes the source OUT, in which millrace::FUNCTION() returns the files of the folder DIST, and for each
# FILE its compressed forms FILE.gz and FILE.br, if they are there. DIST/manifest.json lists the files:
# [{"path": "/assets/app-1A2B3C4D.js", "file": "assets/app-1A2B3C4D.js", "type": "text/javascript",
#   "immutable": true}, …]
# The source has the hash of each file, so the compiler and ccache see when a file has changed.
cmake_minimum_required(VERSION 3.25)

# Adds the bytes of `path` to the source, and sets `text` to an expression of its std::string_view.
macro(embed path text)
  set(${text} "{}")
  if(EXISTS "${path}")
    file(SIZE "${path}" size)
    file(SHA256 "${path}" content)
    set(symbol ${FUNCTION}_bytes_${count})
    math(EXPR count "${count} + 1")
    string(APPEND bytes "    \"  .globl ${symbol}\\n${symbol}:\\n\"  // ${content}\n    \"  .incbin \\\"${path}\\\"\\n\"\n")
    string(APPEND symbols "extern const char ${symbol}[] __attribute__((visibility(\"hidden\")));\n")
    set(${text} "{${symbol}, ${size}}")
  endif()
endmacro()

set(count 0)
set(bytes "")
set(symbols "")
set(rows "")
file(READ "${DIST}/manifest.json" manifest)
string(JSON length LENGTH "${manifest}")
if(length EQUAL 0)
  message(FATAL_ERROR "${DIST}/manifest.json lists no file; expected those of a page")
endif()
math(EXPR last "${length} - 1")
foreach(index RANGE ${last})
  string(JSON url GET "${manifest}" ${index} path)
  string(JSON file GET "${manifest}" ${index} file)
  string(JSON type GET "${manifest}" ${index} type)
  string(JSON immutable GET "${manifest}" ${index} immutable)
  if(NOT EXISTS "${DIST}/${file}")
    message(FATAL_ERROR "${DIST}/manifest.json lists ${file}, which is not in the folder")
  endif()
  set(is_immutable false)
  if(immutable)
    set(is_immutable true)
  endif()
  file(SHA256 "${DIST}/${file}" hash)
  embed("${DIST}/${file}" plain)
  embed("${DIST}/${file}.gz" gzip)
  embed("${DIST}/${file}.br" brotli)
  string(APPEND rows
    "      {.path = \"${url}\",\n       .type = \"${type}\",\n       .is_immutable = ${is_immutable},\n"
    "       .hash = \"${hash}\",\n       .bytes = ${plain},\n       .gzip = ${gzip},\n       .brotli = ${brotli}},\n")
endforeach()

file(WRITE "${OUT}" "// Made by cmake/embed_page.cmake.
#include \"gateway/page_files.h\"

asm(\"  .pushsection .rodata\\n\"
${bytes}    \"  .popsection\\n\");

extern \"C\" {
${symbols}}

namespace millrace {

PageFiles ${FUNCTION}() {
  static const WebFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace millrace
")
