trap : HUP INT TERM PIPE QUIT USR1 USR2 ALRM
say() { n=0; until printf '\036@N %s\036' "$*" >&9 || [ $n = 99 ]; do n=$((n+1)); done; }
wait_go() { while IFS= read -r go <&8; do [ "$go" = '@N go' ] && return 0; done; return 1; }
say keeper $$ $PPID
trap 'say dead 254; wait_go && exec /bin/sh -c "$1" keeper "$@"' EXIT
S=; command -v setsid >/dev/null && S=setsid
while :; do
if command -v bash >/dev/null; then $S bash --noprofile --norc -c "$2" bash; else $S sh -c "$3" sh; fi
s=$?; say dead $s; wait_go || break; done; trap - EXIT; exit 0
