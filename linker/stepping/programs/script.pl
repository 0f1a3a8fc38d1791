my %numbers = map { $_ => $_ * 7 % 11 } 1 .. 60;
sub depth { my ($n) = @_; return $n < 2 ? 1 : depth($n - 1) + depth($n - 2) }
print join(",", map { "$_=$numbers{$_}" } sort { $numbers{$a} <=> $numbers{$b} || $a <=> $b } keys %numbers), "\n";
eval { die { code => depth(8) } };
print $@->{code}, "\n" if ref $@;
local $SIG{USR1} = sub { print "caught\n" };
kill USR1 => $$;
my $text = "the quick brown fox" x 5;
$text =~ s/(\w+)\s+(\w+)/$2 $1/g;
print sprintf("%-20s|%5.2f", substr($text, 0, 15), 3.14159), "\n";
