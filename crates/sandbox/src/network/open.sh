# Becomes the listener, by means of what the image has. Nothing else may write to its stream.
p=$1 l=$2
shift 2
n=$2
if python3 -I -S -c 'import selectors, socket' </dev/null >/dev/null 2>&1; then
echo "$n python3"
exec python3 -I -S -c "$p" "$@"
fi
if perl -MSocket -MFcntl -MErrno -e 1 </dev/null >/dev/null 2>&1; then
echo "$n perl"
exec perl -e "$l" "$@"
fi
echo "$n missing"
