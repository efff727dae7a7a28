#!/bin/sh
# Runs the compiler through ccache. The sloppiness is needed because ccache caches a precompiled header
# only if it may ignore time macros. The times of included files count: without them ccache would store
# what the compiler made of a header under the content that the header got during the compilation.
#
# The included files are those that the compiler lists for ninja. Otherwise ccache would run the
# preprocessor before each compilation.
#
# Before a precompiled header is rebuilt, the old file is removed. Otherwise g++ would use the old file
# in place of the header that it is built from; ccache would then not see the included files, and would
# return a result for other sources.
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
case " $* " in
  *" -x c++-header "*)
    for argument; do
      [ "${before:-}" = -o ] && rm -f "$argument"
      before=$argument
    done
    ;;
esac
exec ccache "$@"
