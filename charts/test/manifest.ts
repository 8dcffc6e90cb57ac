/** The part of Kubernetes' objects that the rules read. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Labels; annotations?: Labels };
  spec?: Record<string, unknown>;
  data?: Record<string, string>;
}

export type Labels = Record<string, string>;

export interface Container {
  name: string;
  image: string;
  command?: string[];
  env?: { name: string; value?: string; valueFrom?: { secretKeyRef?: SecretKey } }[];
  ports?: { name: string; containerPort: number }[];
  resources?: { requests?: Labels; limits?: Labels };
  volumeMounts?: { name: string; mountPath: string }[];
  securityContext?: Record<string, unknown>;
}

export interface SecretKey {
  name: string;
  key: string;
  optional?: boolean;
}

export interface PodSpec {
  automountServiceAccountToken?: boolean;
  serviceAccountName?: string;
  terminationGracePeriodSeconds?: number;
  securityContext?: Record<string, unknown>;
  initContainers?: Container[];
  containers: Container[];
  volumes?: Volume[];
}

export interface Volume {
  name: string;
  secret?: { secretName: string };
  configMap?: { name: string };
  persistentVolumeClaim?: { claimName: string };
}

/** The pods that an object makes, or is. */
export interface Pods {
  owner: Manifest;
  labels: Labels;
  spec: PodSpec;
}

export function podsOf(manifests: Manifest[]): Pods[] {
  return manifests.flatMap((owner): Pods[] => {
    if (owner.kind === "Pod")
      return [{ owner, labels: owner.metadata.labels ?? {}, spec: owner.spec as unknown as PodSpec }];
    const template = owner.spec?.template as { metadata: { labels: Labels }; spec: PodSpec } | undefined;
    return template ? [{ owner, labels: template.metadata.labels, spec: template.spec }] : [];
  });
}

export function containersOf({ spec }: Pods): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

/** The component of the product by its labels. */
export function componentOf(labels: Labels | undefined): string {
  return labels?.["app.kubernetes.io/component"] ?? "";
}

/** Does a selector of Kubernetes choose these labels? An empty one chooses all. */
export function selects(selector: Selector, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      if (operator !== "In") throw new Error(`The rules know no ${operator}`);
      return values.includes(labels[key] ?? "");
    })
  );
}

export interface Selector {
  matchLabels?: Labels;
  matchExpressions?: { key: string; operator: string; values: string[] }[];
}

/** The identity of an object in a release. */
export function keyOf({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.name}`;
}
