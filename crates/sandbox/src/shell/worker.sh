unset _pm_w; _pm_i=; _pm_q=; _pm_nl='
'; { echo 500 >/proc/self/oom_score_adj; } 2>/dev/null; _pm_m=$$; @P
for _pm_g in /sys/fs/cgroup/pids/pids /sys/fs/cgroup/pids; do if [ -r $_pm_g.max ]; then IFS= read -r _pm_q <$_pm_g.max; break; fi; done
case $_pm_q in ''|*[!0-9]*) _pm_q=0;; esac
_pm_y=0; _pm_e=; if @B [ "$_pm_q" -gt 0 ]; then IFS= @B read -r _pm_y <"$_pm_g.current"; IFS= @B read -r _pm_e <"$_pm_g.events"; fi
_pm_n=0; until @B printf '\036@N up %s @S\036' "$_pm_m" >&9; do @B [ "$((_pm_n+=1))" -lt 9999 ] || @B exit 97; done
while { _pm_s=$?; unset -f @B exec; @B set +euxvfC; } >/dev/null 2>&1; exec >/dev/null 2>&1; do
if @B [ "$_pm_i" ]; then { @B export -p; @B echo 'cd -- "$PWD"; return'; } 2>/dev/null 1<>'@F'"$((_pm_i&1))"; _pm_n=0; until @B printf '\036@N end %s %s\036' "$_pm_i" "$_pm_s" >&9; do @B [ "$((_pm_n+=1))" -lt 9999 ] || @B exit 97; done; fi
IFS=' ' @B read -r _pm_m _pm_i _pm_l _pm_f <&8 || @B exit 99; @B [ "$_pm_m" = @N ] || @B exit 98
_pm_c=; _pm_b=; while @B [ "$_pm_l" -gt 0 ]; do IFS= @B read -r _pm_x <&8 || @B exit 99; _pm_b=$_pm_b$_pm_x$_pm_nl; _pm_l=$((_pm_l-1)); case $_pm_l in *00|0) _pm_c=$_pm_c$_pm_b; _pm_b=;; esac; done
_pm_v=begin; if @B [ "$_pm_q" -gt 0 ] && @B [ ! "$_pm_f" ]; then
_pm_x=; _pm_m=$_pm_e; IFS= @B read -r _pm_x <"$_pm_g.current"; IFS= @B read -r _pm_m <"$_pm_g.events"
if @B [ "$((_pm_x*2))" -gt "$_pm_q" ]; then _pm_v=full; elif @B [ "$_pm_m" != "$_pm_e" ] && @B [ @S != plain ]; then _pm_v=full; elif @B [ "$((_pm_x))" -gt "$((_pm_y+@G))" ]; then _pm_v=more; fi
_pm_y=$_pm_x; _pm_e=$_pm_m
fi
_pm_n=0; until @B printf '\036@N %s %s\036' "$_pm_v" "$_pm_i" >&9; do @B [ "$((_pm_n+=1))" -lt 9999 ] || @B exit 97; done
if @B [ "$_pm_v" != begin ]; then _pm_i=
else
exec >/proc/self/fd/9 2>&1
@B eval "$_pm_c" </dev/null 8<&- 9>&-
fi
done
