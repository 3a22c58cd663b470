use strict;
use Socket;
use Fcntl;
use Errno qw(EAGAIN EWOULDBLOCK EINTR);
my ($port, $nonce, $window, $most) = @ARGV;
$SIG{$_} = 'IGNORE' for qw(HUP INT TERM PIPE QUIT USR1 USR2 ALRM);
open(my $out, '>&', \*STDOUT) or exit 1;
open(STDOUT, '>', '/dev/null');
open(STDERR, '>', '/dev/null');
binmode($_) for $out, \*STDIN;
sub fail { syswrite($out, "$nonce cannot listen on 127.0.0.1:$port: $!\n"); exit 1 }
socket(my $door, PF_INET, SOCK_STREAM, 0) or fail();
setsockopt($door, SOL_SOCKET, SO_REUSEADDR, pack('i', 1));
bind($door, pack_sockaddr_in($port, INADDR_LOOPBACK)) or fail();
listen($door, 128) or fail();
syswrite($out, "$nonce ready\n");
sub unblock { my $h = shift; fcntl($h, F_SETFL, fcntl($h, F_GETFL, 0) | O_NONBLOCK) }
unblock($_) for \*STDIN, $out, $door;
my ($OPEN, $DATA, $END, $RESET, $WINDOW, $PING, $PONG) = 1 .. 7;
my ($piece, $full) = (32768, 262144);
my ($inbox, $outbox, $number, %flows) = ('', '', 0);

sub again { $! == EAGAIN || $! == EWOULDBLOCK || $! == EINTR }
sub tell_runner { $outbox .= pack('CNN', @_[0 .. 2]) . (defined $_[3] ? $_[3] : '') }
sub forget { my $f = shift; close($f->{sock}); delete $flows{$f->{number}} }
sub lose { my $f = shift; forget($f); tell_runner($RESET, $f->{number}, 0) }

sub finish {
    my $f = shift;
    if ($f->{to_end} && !$f->{ended} && $f->{pending} eq '') {
        $f->{ended} = 1;
        shutdown($f->{sock}, 1);
    }
    forget($f) if $f->{ended} && $f->{read_all};
}

sub receive {
    my $f = shift;
    my $count = sysread($f->{sock}, my $data, $f->{credit} < $piece ? $f->{credit} : $piece);
    if (!defined $count) { lose($f) unless again(); return }
    if ($count) {
        $f->{credit} -= $count;
        tell_runner($DATA, $f->{number}, $count, $data);
    } else {
        $f->{read_all} = 1;
        tell_runner($END, $f->{number}, 0);
        finish($f);
    }
}

sub deliver {
    my $f = shift;
    while ($f->{pending} ne '') {
        my $count = syswrite($f->{sock}, $f->{pending}, 65536);
        if (!defined $count) { last if again(); lose($f); return }
        substr($f->{pending}, 0, $count, '');
        $f->{owed} += $count;
    }
    if ($f->{owed} >= $window / 4) {
        tell_runner($WINDOW, $f->{number}, $f->{owed});
        $f->{owed} = 0;
    }
    finish($f);
}

sub take {
    my $count = sysread(STDIN, $inbox, $full, length $inbox);
    if (!defined $count) { return if again(); exit 1 }
    exit 0 unless $count;
    my $at = 0;
    while (length($inbox) - $at >= 9) {
        my ($kind, $n, $amount) = unpack('CNN', substr($inbox, $at, 9));
        my $f = $flows{$n};
        if ($kind == $DATA) {
            last if length($inbox) - $at < 9 + $amount;
            if ($f) {
                $f->{pending} .= substr($inbox, $at + 9, $amount);
                deliver($f);
            }
            $at += $amount;
        } elsif ($kind == $PING) {
            tell_runner($PONG, 0, 0);
        } elsif ($f && $kind == $WINDOW) {
            $f->{credit} += $amount;
        } elsif ($f && $kind == $END) {
            $f->{to_end} = 1;
            finish($f);
        } elsif ($f && $kind == $RESET) {
            forget($f);
        }
        $at += 9;
    }
    substr($inbox, 0, $at, '');
}

sub enter {
    accept(my $sock, $door) or return;
    unblock($sock);
    setsockopt($sock, 6, 1, pack('i', 1));
    $number = ($number + 1) & 0xFFFFFFFF;
    $flows{$number} = {sock => $sock, number => $number, credit => $window, pending => '', owed => 0};
    tell_runner($OPEN, $number, 0);
}

sub flush_out {
    while ($outbox ne '') {
        my $count = syswrite($out, $outbox, 65536);
        if (!defined $count) { return if again(); exit 1 }
        substr($outbox, 0, $count, '');
    }
}

while (1) {
    my ($r, $w) = ('', '');
    my $room = length($outbox) <= $full;
    vec($r, 0, 1) = 1;
    vec($r, fileno($door), 1) = 1 if $room && keys(%flows) < $most;
    vec($w, fileno($out), 1) = 1 if $outbox ne '';
    for my $f (values %flows) {
        vec($r, fileno($f->{sock}), 1) = 1 if $room && !$f->{read_all} && $f->{credit} > 0;
        vec($w, fileno($f->{sock}), 1) = 1 if $f->{pending} ne '';
    }
    next if select($r, $w, undef, undef) < 0;
    my @flows = values %flows;
    my %fd = map { $_->{number} => fileno($_->{sock}) } @flows;
    take() if vec($r, 0, 1);
    for my $f (@flows) {
        deliver($f) if $flows{$f->{number}} && vec($w, $fd{$f->{number}}, 1);
        receive($f) if $flows{$f->{number}} && vec($r, $fd{$f->{number}}, 1) && !$f->{read_all};
    }
    enter() if vec($r, fileno($door), 1);
    flush_out();
}
