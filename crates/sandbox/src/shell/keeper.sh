trap : HUP INT TERM PIPE QUIT USR1 USR2 ALRM
say() { n=0; until printf '\036@N %s\036' "$*" >&9 || [ $n = 99 ]; do n=$((n+1)); done; }
wait_go() { while IFS= read -r go <&8; do case $go in '@N go') p=; return 0;; '@N plain') p=1; return 0;; esac; done; return 1; }
say keeper $$ $PPID
R=$5; if [ ! "$R" ]; then R=/proc/self/exe; [ /bin/sh -ef /bin/ls ] && R=/bin/sh; fi
trap 'say dead 254; wait_go && exec $R -c "$1" keeper "$1" "$2" "$3" "$4" $R' EXIT
S=; command -v setsid >/dev/null && S=setsid
p=@P
start() {
if [ "$p" ]; then (_pm_w=$4; set --; unset -f say wait_go start; unset p s n S R go; eval "$_pm_w")
elif command -v bash >/dev/null; then _pm_w=$2 $S bash --noprofile --norc -c 'eval "$_pm_w"' bash
else _pm_w=$3 $S sh -c 'eval "$_pm_w"' sh; fi
s=$?
}
while :; do
s=254; command eval 'start "$@"'
say dead $s; wait_go || break; done; trap - EXIT; exit 0
