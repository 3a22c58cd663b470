# Runs a program, tells its number before and its status after it by the other stream, and leaves nothing of it running.
exec 7>&2 2>/dev/null
ulimit -S -n 65536
echo "$$" >&7
# Its own shell would say how it died.
(exec 2>&1 7>&-; exec "$@")
s=$?
sweep $$
echo "end $s" >&7
exit "$s"
