# The main process of every container: says who it is and what network it sees, and runs programs from its input until one takes its place.
# Built-ins only: the image may hold nothing else.
# Inherited from the engine it may be a billion, which some old programs walk through at each start. An engine without privileges cannot set it.
ulimit -S -n 65536 2>/dev/null
u=-1 g=-1
while read -r k v r; do
case $k in Uid:) u=$v ;; Gid:) g=$v ;; esac
done </proc/self/status
n=-1
[ -r /proc/net/route ] && while read -r k r; do n=$((n + 1)); done </proc/net/route
m=0
[ -r /proc/net/if_inet6 ] && while read -r a b c d e k; do
[ "$k" = lo ] || m=$((m + 1))
done </proc/net/if_inet6
echo "patchmill $u $g $n $m"
while IFS= read -r n; do
p=
while [ "$n" -gt 0 ]; do
IFS= read -r l || exit 0
p="$p$l
"
n=$((n - 1))
done
eval "$p"
done
