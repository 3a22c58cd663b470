# Ends what descends from process $1, and what lost its parent since that began. Built-ins only: no process may be free.
look() {
l=
while IFS= read -r x; do l="$l$x "; done <"/proc/$1/stat" || return 1
set -- ${l##*)}
st=$1 pp=$2 at=${20}
[ "$at" ]
}
# Whether a process is the worker of the main process, which has its input, or has it put aside while it runs a command.
worker() {
for f in 8 10 11 12 13; do
[ "/proc/$1/fd/$f" -ef /proc/1/fd/8 ] && return 0
done
return 1
}
sweep() {
since=0
look "$1" && since=$at
rounds=0
while :; do
family=" $1 " found=
while :; do
grown=
for p in /proc/[0-9]*; do
p=${p#/proc/}
case "$family" in *" $p "*) continue ;; esac
[ "$p" = 1 ] || [ "$p" = $$ ] && continue
look "$p" || continue
[ "$st" = Z ] && continue
case "$family" in
*" $pp "*)
# As long as it has a worker, stopped or not, the main process waits for children, and buries everybody's.
if [ "$pp" = 1 ] && worker "$p"; then
kill -STOP "$p"
family="$family$p " grown=1
continue
fi
;;
*)
# An orphan may be anybody's, but not if it is older.
[ "$pp" = 1 ] && [ "$at" -ge "$since" ] && ! worker "$p" || continue
;;
esac
family="$family$p " grown=1 found="$found $p"
done
[ "$grown" ] || break
done
[ "$found" ] || return 0
rounds=$((rounds + 1))
# A bomb forks faster than it can be listed.
if [ "$rounds" -gt 30 ]; then kill -9 -1; else kill -9 $found; fi
[ "$rounds" -gt 40 ] && return 1
done
}
