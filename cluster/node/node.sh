#!/bin/bash
# Process 1 of the node, in namespaces of its own: prepares them, starts every part, waits. Its environment is `cluster.ts`.
set -euo pipefail
export PATH=$DIR/bin:/usr/sbin:/usr/bin HOME=$DIR/home KUBECONFIG=$DIR/kubeconfig

# What would otherwise reach the machine: folders of running programs, logs, and settings that a kubelet makes.
mount -t overlay overlay -o "lowerdir=$ROOT/usr:/usr" /usr # the packages, as if they were installed
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/lock /var/lib/kubelet
mount --bind "$DIR/kubelet" /var/lib/kubelet
mount --bind "$DIR/log" /var/log
mount -t tmpfs tmpfs "$DIR/etcd"
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1; do
  path=${setting%=*} file=$DIR/settings/${setting//\//-}
  echo "${setting#*=}" > "$file"
  mount --bind "$file" "/proc/sys/$path"
done
mount --make-rshared /
hostname node

# The only network there is: no packet leaves it.
ip link set lo up
ip link add node0 type bridge
ip address add "$NODE_IP/32" dev node0
ip address add "$RECEIVER_IP/32" dev node0
ip link set node0 up
ip route add default dev node0
sysctl -qw net.ipv4.ip_forward=1

for part in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy network-policies coredns kubectl helm; do
  ln -sf "$PROGRAM" "$DIR/bin/$part"
done
for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
  ln -sf /usr/sbin/xtables-nft-multi "$DIR/bin/$name"
done
openssl genrsa -out "$DIR/pki/accounts.key" 2048 2> /dev/null

# The node ends with any of its parts.
trap 'exit 1' TERM
start() {
  local part=$1 log=$DIR/parts/$1.log
  { "$@" > "$log" 2>&1 || true; echo "$part ended: $(tail -n 1 "$log")"; kill 1; } &
}
await() { until "$@" > /dev/null 2>&1; do sleep 0.2; done; } # who started the node gives up in time

start containerd -c "$DIR/etc/containerd.toml"
start etcd --data-dir "$DIR/etcd/data" --unsafe-no-fsync --log-level warn \
  --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380
start kube-apiserver --etcd-servers http://127.0.0.1:2379 --cert-dir "$DIR/pki" --advertise-address "$NODE_IP" \
  --service-cluster-ip-range "$SERVICE_RANGE" --authorization-mode Node,RBAC --token-auth-file "$DIR/pki/tokens" --allow-privileged \
  --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$DIR/pki/accounts.key" \
  --service-account-signing-key-file "$DIR/pki/accounts.key" --kubelet-preferred-address-types InternalIP --profiling=false --v 1
await kubectl get --raw /readyz

start kube-controller-manager --kubeconfig "$KUBECONFIG" --leader-elect=false --root-ca-file "$DIR/pki/apiserver.crt" \
  --service-account-private-key-file "$DIR/pki/accounts.key" --flex-volume-plugin-dir "$DIR/flex" \
  --horizontal-pod-autoscaler-sync-period 5s --horizontal-pod-autoscaler-initial-readiness-delay 5s --v 1
start kube-scheduler --kubeconfig "$KUBECONFIG" --leader-elect=false --v 1
await ctr version
hierarchies=(/sys/fs/cgroup/*/)
[ -e /sys/fs/cgroup/cgroup.controllers ] && hierarchies=(/sys/fs/cgroup) # version 2 has one
for hierarchy in "${hierarchies[@]}"; do mkdir -p "$hierarchy/$CGROUP"; done
start kubelet --config "$DIR/etc/kubelet.yaml" --kubeconfig "$KUBECONFIG" --hostname-override node --node-ip "$NODE_IP" --v 1
await kubectl get node node # both want to find it
start kube-proxy --config "$DIR/etc/kube-proxy.yaml" --v 1
start network-policies "$KUBECONFIG" node "$SERVICE_RANGE"
wait
