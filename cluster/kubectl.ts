import { eventually } from "@tidings/testkit/eventually";
import { feed, output } from "./machine.ts";

export interface Pod {
  name: string;
  component: string;
  ip: string;
  isReady: boolean;
  isPending: boolean;
  /** The id of its only container, without the name of the runtime; empty before it runs. */
  container: string;
  restarts: number;
}

interface PodObject {
  metadata: { name: string; labels?: Record<string, string>; deletionTimestamp?: string };
  status: {
    phase: string;
    podIP?: string;
    conditions?: { type: string; status: string }[];
    containerStatuses?: { containerID?: string; restartCount: number }[];
  };
}

const COMPONENT = "app.kubernetes.io/component";

export function kubectl(...args: string[]): Promise<string> {
  return output("kubectl", args);
}

export function apply(manifest: string): Promise<string> {
  return feed("kubectl", ["apply", "--filename=-"], manifest);
}

/** Pods that are not about to go, of one component of the product or of all. */
export async function pods(component?: string): Promise<Pod[]> {
  const selector = component ? `${COMPONENT}=${component}` : COMPONENT;
  const { items }: { items: PodObject[] } = JSON.parse(
    await kubectl("get", "pods", "--selector", selector, "--output=json"),
  );
  return items.filter(({ metadata }) => !metadata.deletionTimestamp).map(podOf);
}

function podOf({ metadata, status }: PodObject): Pod {
  const [container] = status.containerStatuses ?? [];
  return {
    name: metadata.name,
    component: metadata.labels?.[COMPONENT] ?? "",
    ip: status.podIP ?? "",
    isReady: status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false,
    isPending: status.phase === "Pending",
    container: container?.containerID?.replace("containerd://", "") ?? "",
    restarts: container?.restartCount ?? 0,
  };
}

/** Waits until a component has so many pods, all ready. */
export function untilReady(component: string, count: number, timeoutMs = 120_000): Promise<Pod[]> {
  return eventually(
    async () => {
      const found = await pods(component);
      const ready = found.filter(({ isReady }) => isReady);
      if (found.length === count && ready.length === count) return ready;
      throw new Error(`${component}: ${ready.length} of ${found.length} pods are ready, not ${count}`);
    },
    { timeoutMs, intervalMs: 500 },
  );
}

/** The address of a Service. */
export async function addressOf(service: string, port: number): Promise<string> {
  const ip = await kubectl("get", "service", service, "--output=jsonpath={.spec.clusterIP}");
  return `http://${ip}:${port}`;
}
