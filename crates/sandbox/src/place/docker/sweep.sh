# Ends what descends from process $1, and what lost its parent since that began. Built-ins only: no process may be free.
look() {
l=
while IFS= read -r x; do l="$l$x "; done <"/proc/$1/stat" || return 1
set -- ${l##*)}
st=$1 pp=$2 at=${20}
[ "$at" ]
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
*" $pp "*) ;;
*)
# An orphan may be anybody's: not what is older, nor the main process's own worker, which has its streams.
[ "$pp" = 1 ] && [ "$at" -ge "$since" ] || continue
[ -e "/proc/$p/fd/8" ] && [ -e "/proc/$p/fd/9" ] && continue
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
