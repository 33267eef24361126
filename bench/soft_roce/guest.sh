# In the machine of scripts/soft-roce-vm: Soft-RoCE to itself and Weft to itself (over UDP, and by shared memory),
# in turn, on the same two processors. Prints lines of: who, what, value, unit, round.
ip link add va type veth peer name vb
ip addr add 10.9.0.1/24 dev va
ip link set va mtu 4200 up
ip link set vb mtu 4200 up
rdma link add rxe0 type rxe netdev va || exit 1
gid=$(grep -l 'ffff:0a09:0001$' /sys/class/infiniband/rxe0/ports/1/gids/* | sed 's/.*\///')
ip netns add weft  # Soft-RoCE has port 4791 of every address here
ip netns exec weft ip link set lo up
port=18600

# The last row that begins with a number: its column $1.
column() { awk -v c="$1" '$1 ~ /^[0-9]+$/ { value = $c } END { print value }'; }

pair() {  # who, column, what, unit, program and arguments
  who=$1 column=$2 what=$3 unit=$4
  shift 4
  port=$((port + 1))
  case $who in
    soft-roce) set -- "$@" -d rxe0 -x "$gid" -p $port; address=10.9.0.1 ;;
    *) set -- ip netns exec weft /weft/bin/weft run --addr 127.0.0.1 --wire "$who" -- "$@" -p $port; address=127.0.0.1 ;;
  esac
  timeout 60 "$@" >/dev/null 2>&1 &
  sleep 3
  value=$(timeout 60 "$@" $address 2>/dev/null | column "$column")
  wait
  echo "$who $what ${value:-failed} $unit $round"
}
# What is compared follows each other; and lasts, or it would tell of the moment it fell into.
for round in 1 2 3 4 5; do
  for who in udp soft-roce auto; do pair $who 4 send_64KB MB/s ib_send_bw -F -s 65536 -n 2000; done
  for who in udp soft-roce auto; do pair $who 5 send_latency_64B us ib_send_lat -F -s 64 -n 20000; done
done
