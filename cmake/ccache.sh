#!/bin/sh
# Compiles by ccache. Sloppiness: a precompiled header is only cached when ccache may look past time
# macros and include times.
#
# A precompiled header that is made anew must not be there meanwhile: g++ would take the old one for
# the header that it is made from, and ccache would not see what that includes and give back a
# result for other sources.
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
