# Runs in the machine of scripts/soft-roce-vm: Soft-RoCE and Weft, a namespace each, do with each other what users do.
# Prints a line for each exchange, and what both sides said where it fails. Ends with 1 if any failed.

rxe_address=10.9.0.1 weft_address=10.9.0.2
rxe_address6=fd09::1 weft_address6=fd09::2
patience=90
passed=0 failed=0
impairment=

dmesg -c >/dev/null  # what the kernel said while it booted is about the machine that runs it, not about Soft-RoCE

# ---- two ends of a wire ----------------------------------------------------------------------------------------------

in_peer() { ip netns exec peer "$@"; }
ip netns add peer
ip link add va type veth peer name vb
ip link set vb netns peer
ip addr add $rxe_address/24 dev va
ip addr add $rxe_address6/64 dev va nodad
ip link set va mtu 4200 up
in_peer ip addr add $weft_address/24 dev vb
in_peer ip addr add $weft_address6/64 dev vb nodad
in_peer ip link set vb mtu 4200 up
in_peer ip link set lo up
echo 10000 >/proc/sys/net/core/netdev_max_backlog  # Soft-RoCE sends a READ's responses all at once
rdma link add rxe0 type rxe netdev va || exit 1

gid_index() {  # of the device rxe0, by the last groups of the GID
  grep -l "$1\$" /sys/class/infiniband/rxe0/ports/1/gids/* 2>/dev/null | sed 's/.*\///'
}
rxe_gid=$(gid_index 'ffff:0a09:0001') rxe_gid6=$(gid_index 'fd09:0000:0000:0000:0000:0000:0000:0001')
[ -n "$rxe_gid" ] && [ -n "$rxe_gid6" ] || { echo "Soft-RoCE has not got its GIDs"; exit 1; }

# ---- one exchange ----------------------------------------------------------------------------------------------------

run() {  # SIDE COMMAND...
  local side=$1
  shift
  case $side in
    rxe) timeout $patience "$@" ;;
    weft) in_peer timeout $patience /weft/bin/weft run --stats $impairment -- "$@" ;;
  esac
}

is_open() {  # SIDE: does somebody listen at TCP port 18515 (0x4853)?
  case $1 in
    rxe) cat /proc/net/tcp /proc/net/tcp6 ;;
    weft) in_peer cat /proc/net/tcp /proc/net/tcp6 ;;
  esac | grep -q ':4853 [0-9A-F:]* 0A '
}

wait_until_open() {  # SIDE PID
  local tries=0
  until is_open "$1"; do
    tries=$((tries + 1))
    [ $tries -lt 150 ] && kill -0 "$2" 2>/dev/null || return
    sleep 0.1
  done
}

judge() {  # NAME SERVER'S-CODE CLIENT'S-CODE
  local why=
  [ "$2" = 0 ] || why="the server ended with $2"
  [ "$3" = 0 ] || why="$why, the client ended with $3"
  grep -q -E 'rx_bad_icrc|mismatch|invalid data' /tmp/server /tmp/client && why="$why, something arrived damaged"
  if [ -z "$why" ]; then
    passed=$((passed + 1))
    echo "ok      $1"
  else
    failed=$((failed + 1))
    echo "FAILED  $1: ${why#, }"
    sed 's/^/  server: /' /tmp/server
    sed 's/^/  client: /' /tmp/client
  fi
}

# Programs that meet over TCP.
meet() {  # NAME SERVING-SIDE ADDRESS "COMMAND" "RXE'S OPTIONS" "WEFT'S OPTIONS"
  local asking=weft server_options=$5 client_options=$6 pid code
  [ "$2" = rxe ] || { asking=rxe; server_options=$6; client_options=$5; }
  run "$2" $4 $server_options >/tmp/server 2>&1 &
  pid=$!
  wait_until_open "$2" $pid
  run $asking $4 $client_options "$3" >/tmp/client 2>&1
  code=$?
  wait $pid
  judge "$1" $? $code
}

# Programs that meet by rdma_cm: nothing shows that the server listens, so a client that is rejected tries again.
meet_by_cm() {  # NAME SERVING-SIDE "SERVER'S COMMAND" "CLIENT'S COMMAND"
  local asking=weft pid code tries=0
  [ "$2" = rxe ] || asking=rxe
  run "$2" $3 >/tmp/server 2>&1 &
  pid=$!
  while :; do
    sleep 0.5
    run $asking $4 >/tmp/client 2>&1
    code=$?
    tries=$((tries + 1))
    [ $tries -lt 10 ] && grep -q -E 'REJECTED|UNREACHABLE' /tmp/client || break
  done
  wait $pid
  judge "$1" $? $code
}

# ---- both ways -------------------------------------------------------------------------------------------------------

both_ways() {  # "COMMAND" FLAG-FOR-THE-GID
  meet "$1${impairment:+, $impairment}: Weft asks Soft-RoCE" rxe $rxe_address "$1" "-d rxe0 $2 $rxe_gid" "$2 0"
  meet "$1${impairment:+, $impairment}: Soft-RoCE asks Weft" weft $weft_address "$1" "-d rxe0 $2 $rxe_gid" "$2 0"
}
both_ways6() {  # these listen at IPv4 only: the TCP connection is apart from the GIDs
  meet "$1, IPv6: Weft asks Soft-RoCE" rxe $rxe_address "$1" "-d rxe0 $2 $rxe_gid6" "$2 1"
  meet "$1, IPv6: Soft-RoCE asks Weft" weft $weft_address "$1" "-d rxe0 $2 $rxe_gid6" "$2 1"
}
both_ways_by_cm() {  # "COMMAND" SERVER'S-FLAGS CLIENT'S-FLAGS, which end in the one for the server's address
  local name="$1${impairment:+, $impairment}"
  meet_by_cm "$name: Weft asks Soft-RoCE" rxe "$1 $2 $rxe_address" "$1 $3 $rxe_address"
  meet_by_cm "$name: Soft-RoCE asks Weft" weft "$1 $2 $weft_address" "$1 $3 $weft_address"
}
both_ways_by_cm6() {
  meet_by_cm "$1, IPv6: Weft asks Soft-RoCE" rxe "$1 $2 $rxe_address6" "$1 $3 $rxe_address6"
  meet_by_cm "$1, IPv6: Soft-RoCE asks Weft" weft "$1 $2 $weft_address6" "$1 $3 $weft_address6"
}

# An acknowledgement may take 1 s: where processors are emulated, the usual 67 ms are too few.
slow="-F -u 18"

both_ways "ibv_rc_pingpong -c -n 50 -s 10000 -m 4096" -g
both_ways "ibv_rc_pingpong -c -n 50 -e" -g
both_ways "ibv_srq_pingpong -c -n 50 -q 4" -g
both_ways "ibv_uc_pingpong -c -n 50" -g
both_ways "ibv_ud_pingpong -c -n 50" -g
for operation in send write read; do
  both_ways "ib_${operation}_bw $slow -n 50" -x
  both_ways "ib_${operation}_lat $slow -n 50 -s 200" -x
done
both_ways "ib_atomic_bw $slow -n 50" -x
both_ways "ib_atomic_lat $slow -n 50 -A CMP_AND_SWAP" -x
both_ways "ib_send_bw $slow -n 20 -b -q 4 -s 8000 -m 1024" -x
both_ways "ib_write_bw $slow -n 5 -s 1000000" -x
both_ways "ib_read_bw $slow -n 5 -s 1000000" -x

both_ways6 "ibv_rc_pingpong -c -n 50" -g
both_ways6 "ibv_ud_pingpong -c -n 50" -g
both_ways6 "ib_write_bw $slow -n 20" -x
both_ways6 "ib_read_bw $slow -n 20" -x

both_ways_by_cm "rping -v -V -C 10 -S 2000" "-s -a" "-c -a"
both_ways_by_cm6 "rping -v -V -C 10" "-s -a" "-c -a"
both_ways_by_cm "ucmatose -c 3 -C 5 -S 3000" "-b" "-s"
both_ways_by_cm "udaddy -c 2 -C 5" "-b" "-s"

impairment="--loss 1% --impair both --seed 7"
slow="-F -u 16"
both_ways "ibv_rc_pingpong -c -n 100" -g
both_ways "ib_send_bw $slow -n 30" -x
both_ways "ib_write_bw $slow -n 30" -x
both_ways "ib_read_bw $slow -n 30" -x
both_ways "ib_atomic_bw $slow -n 100" -x
both_ways_by_cm "rping -v -V -C 20 -S 20000" "-s -a" "-c -a"

# Calls of kernels are between Weft cards alone: who asks this peer is told so, and nothing is sent. The program looks
# for libweft_dv in the folder that it was built in, which may be one that the guest has its own of.
: >/tmp/server
echo "00000000000000000000ffff0a090001 abcdef 1234 1000" |
  in_peer timeout $patience env LD_LIBRARY_PATH=/weft/lib /weft/bin/weft run -- /weft/dv_kernels nobody \
    >/tmp/client 2>&1
judge "a call of a kernel of Soft-RoCE's is refused" 0 $?

# ---- what Soft-RoCE thought of it ------------------------------------------------------------------------------------

if dmesg | grep -E '[Ii][Cc][Rr][Cc]|soft lockup|BUG:|Oops:|rxe.*([Ee]rror|[Bb]ad|[Ii]nvalid|[Ff]ail)'; then
  failed=$((failed + 1))
  echo "FAILED  Soft-RoCE complained"
fi
echo "Soft-RoCE counted:"
(cd /sys/class/infiniband/rxe0/ports/1/hw_counters && grep -H '[1-9]' * | sed 's/^/  /')
echo "$passed passed, $failed failed"
[ $failed = 0 ]
