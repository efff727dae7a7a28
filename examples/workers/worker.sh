#!/bin/bash
# A worker in bash alone: it converts words to capitals. worker.sh host:port subject
LC_ALL=C # lengths are in bytes
server=$1 consumer=${2#millrace.tasks.}
inbox=_INBOX.$(od -An -N12 -tx1 /dev/urandom | tr -d " \n") # no other process may use this inbox
exec 3<>"/dev/tcp/${server%:*}/${server#*:}" || exit 1

publish() { # subject body [headers [reply]]
  local head=$'NATS/1.0\r\n'$3$'\r\n'
  printf 'HPUB %s %s %d %d\r\n%s%s\r\n' "$1" "$4" ${#head} $((${#head} + ${#2})) "$head" "$2" >&3
}
ask() { # for one task; if there is none the server answers 408 after four seconds
  publish "\$JS.API.CONSUMER.MSG.NEXT.MILLRACE_TASKS.${consumer//./+}" \
    '{"batch":1,"expires":4000000000}' '' "$inbox"
}
printf 'CONNECT {"verbose":false,"headers":true}\r\nSUB %s 1\r\n' "$inbox" >&3
ask
while true; do
  read -r -t 5 -u 3 -a words || {
    (($? > 128)) || exit 1 # the server closed the connection
    ask # before the first task of millrace there is no answer
    continue
  }
  [ "${words[0]}" = $'PING\r' ] && printf 'PONG\r\n' >&3
  [ "${words[0]}" = HMSG ] || continue
  size=${words[-1]%$'\r'}
  read -r -u 3 -N "${words[-2]}" head
  read -r -u 3 -N $((size - words[-2] + 2)) body
  if [ ${#words[@]} -eq 6 ]; then # a task; without a reply subject there was no task
    publish "${words[3]}" +WPI # the task has started; repeat this every few seconds as a heartbeat
    [[ $head =~ Millrace-Reply:\ ([^$'\r']*) ]] && answer=${BASH_REMATCH[1]}
    if [[ $body =~ \"word\":\ *\"([^\"]+)\" ]]; then
      publish "$answer" "{\"word\":\"${BASH_REMATCH[1]^^}\"}"
    else
      publish "$answer" '' $'Direktiv-ErrorCode: word.missing\r\nDirektiv-ErrorMessage: no word\r\n'
    fi
    publish "${words[3]}" +ACK
  fi
  ask
done
