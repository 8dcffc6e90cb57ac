import { componentOf, type Manifest, type Pods, podsOf, type Selector, selects } from "./manifest.ts";

interface Peer {
  podSelector?: Selector;
  namespaceSelector?: Selector;
  ipBlock?: unknown;
}

interface Rule {
  from?: Peer[];
  to?: Peer[];
  ports?: { port: string | number; endPort?: number }[];
}

interface PolicySpec {
  podSelector: Selector;
  ingress?: Rule[];
  egress?: Rule[];
}

/**
 * Which pods of a release its policies let reach which: `gateway > contact:grpc` when the one may send there and the other may
 * receive it, sorted. Flows from and to other namespaces and addresses are none of these.
 */
export function flowsOf(manifests: Manifest[]): string[] {
  const pods = podsOf(manifests);
  const policies = manifests
    .filter(({ kind }) => kind === "NetworkPolicy")
    .map(({ spec }) => spec as unknown as PolicySpec);
  const flows = pods.flatMap((from) =>
    pods.flatMap((to) =>
      portNames(to)
        .filter((port) => mayGo(policies, from, to, port) && mayCome(policies, from, to, port))
        .map((port) => `${componentOf(from.labels)} > ${componentOf(to.labels)}:${port}`),
    ),
  );
  return [...new Set(flows)].sort();
}

/** For each component of a release, its rules by which addresses of anywhere are reached, and at which ports. */
export function portsOutside(manifests: Manifest[]): { component: string; opens(port: number): boolean }[] {
  const components = podsOf(manifests).map(({ labels }) => labels);
  return manifests
    .filter(({ kind }) => kind === "NetworkPolicy")
    .flatMap(({ spec }) => {
      const { podSelector, egress = [] } = spec as unknown as PolicySpec;
      const chosen = components.filter((labels) => selects(podSelector, labels)).map(componentOf);
      const outside = egress.filter(({ to }) => to?.some(({ ipBlock }) => ipBlock) ?? true);
      return chosen.flatMap((component) =>
        outside.map(({ ports }) => ({
          component,
          opens: (port: number) =>
            ports?.some(
              (range) => Number(range.port) <= port && port <= (range.endPort ?? Number(range.port)),
            ) ?? true,
        })),
      );
    });
}

function mayGo(policies: PolicySpec[], from: Pods, to: Pods, port: string): boolean {
  return policies
    .filter(({ podSelector }) => selects(podSelector, from.labels))
    .some(({ egress = [] }) =>
      egress.some((rule) => names(rule.to, to) && rule.ports?.some((open) => open.port === port)),
    );
}

/** A rule without peers lets everybody come, from outside too: whether others of the release do is decided by where they may go. */
function mayCome(policies: PolicySpec[], from: Pods, to: Pods, port: string): boolean {
  return policies
    .filter(({ podSelector }) => selects(podSelector, to.labels))
    .some(({ ingress = [] }) =>
      ingress.some((rule) => names(rule.from, from, true) && rule.ports?.some((open) => open.port === port)),
    );
}

function names(peers: Peer[] | undefined, { labels }: Pods, whenAbsent = false): boolean {
  if (!peers) return whenAbsent;
  return peers.some(
    ({ podSelector, namespaceSelector }) => podSelector && !namespaceSelector && selects(podSelector, labels),
  );
}

function portNames({ spec }: Pods): string[] {
  return spec.containers.flatMap(({ ports = [] }) => ports.map(({ name }) => name));
}
