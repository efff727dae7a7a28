#!/bin/sh
# Runs the compiler through ccache. The sloppiness is needed because ccache caches a precompiled header
# only if it may ignore time macros and the times of included files.
#
# Before a precompiled header is rebuilt, the old file is removed. Otherwise g++ would use the old file
# in place of the header that it is built from; ccache would then not see the included files, and would
# return a result for other sources.
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
case " $* " in
  *" -x c++-header "*)
    for argument; do
      [ "${before:-}" = -o ] && rm -f "$argument"
      before=$argument
    done
    ;;
esac
exec ccache "$@"
