exec 8<&0 9>&1 </dev/null 2>/dev/null
trap : HUP INT TERM PIPE QUIT USR1 USR2 ALRM
fields() { l=; while IFS= read -r x; do l="$l $x"; done <"$1/stat" || return 1; l=${l##*) }; [ "$l" ]; }
walk() {
n=0
for d in /proc/[0-9]*; do
p=${d#/proc/}
case $keep in *" $p "*) continue;; esac
fields "$d" || continue
set -- $l
case $1 in Z|X) [ "${18}" -gt 1 ] || continue;; esac
[ "${20}" -ge "$since" ] || continue
[ $signal = INT ] && [ -p "$d/fd/0" ] && continue
n=$((n+1))
[ $signal = 0 ] || kill -$signal "$p"
done
}
sweep() {
signal=KILL; r=0
while [ $r -lt 20 ]; do kill -STOP -1; walk; [ $n = 0 ] && break; r=$((r+1)); done
}
# Stopped first, since a bomb would leave this shell no time.
look() { kill -STOP -1; signal=0; walk; }
# A bomb has nothing to say, and stays as it is until it is killed.
interrupt() {
look
if [ $n -gt @C ]; then n=0; return; fi
signal=INT; walk
told=$n since=0 signal=CONT; walk
n=$told
for p in $PPID $others; do kill -CONT "$p"; done
}
# The kernel's counter of kills, of version 1 and of version 2 of control groups.
killed() {
n=none
for d in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do
[ -r "$d" ] || continue
while IFS=' ' read -r l x; do [ "$l" = oom_kill ] && n=$x; done <"$d"
break
done
}
say() { until printf '@N %s %s\n' "$1" "$2" >&9; do :; done; }
fields /proc/$$
set -- $l
start=${20}
say ready 0
while IFS=' ' read -r magic number verb since worker others <&8; do
[ "$magic" = @N ] || continue
keep=" 1 $$ $PPID $worker $others "
n=0
case $verb in
int) interrupt;;
left) signal=0; walk;;
crowd) look; [ $n -gt @C ] || kill -CONT -1;;
kill) sweep;;
memory) killed;;
now) read -r n x </proc/uptime; n="$start $n";;
done) [ "$worker" = 0 ] || kill -KILL "$worker"; kill -CONT -1;;
esac
say "$number" "$n"
done
