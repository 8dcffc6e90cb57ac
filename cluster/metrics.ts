import { readFileSync } from "node:fs";
import { createServer, request } from "node:https";
import { text } from "node:stream/consumers";
import { NODE } from "./cluster.ts";

const GROUP_VERSION = "metrics.k8s.io/v1beta1";
const PODS_OF_NAMESPACE = new RegExp(`^/apis/${GROUP_VERSION}/namespaces/([^/]+)/pods$`);

interface Summary {
  pods: {
    podRef: { name: string; namespace: string };
    cpu?: { time: string };
    containers?: { name: string; cpu?: { usageNanoCores?: number }; memory?: { workingSetBytes?: number } }[];
  }[];
}

/**
 * Serves what the metrics server of a cluster would: the use of CPU and memory of each pod, as the kubelet knows it, in the shape in which
 * autoscalers ask for it (metrics.k8s.io). It lists all pods of a namespace, whatever labels a request has.
 */
export function serveMetrics(folder: string): Promise<void> {
  const key = readFileSync(`${folder}/pki/apiserver.key`);
  const cert = readFileSync(`${folder}/pki/apiserver.crt`);
  const server = createServer({ key, cert }, (incoming, response) => {
    const answer = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const { pathname } = new URL(incoming.url ?? "", "https://metrics");
    const namespace = PODS_OF_NAMESPACE.exec(pathname)?.[1];
    if (pathname === `/apis/${GROUP_VERSION}`) return answer(200, RESOURCES);
    if (!namespace) return answer(404, {});
    podMetrics(namespace).then(
      (items) => answer(200, { kind: "PodMetricsList", apiVersion: GROUP_VERSION, metadata: {}, items }),
      (error) => answer(503, { message: String(error) }),
    );
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(Number(NODE.METRICS_PORT), NODE.NODE_IP, resolve);
  });
}

const RESOURCES = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: GROUP_VERSION,
  resources: [{ name: "pods", namespaced: true, kind: "PodMetrics", verbs: ["get", "list"] }],
};

async function podMetrics(namespace: string): Promise<object[]> {
  const { pods } = await kubeletSummary();
  return pods
    .filter(({ podRef }) => podRef.namespace === namespace)
    .map(({ podRef, cpu, containers = [] }) => ({
      metadata: podRef,
      timestamp: cpu?.time ?? new Date().toISOString(),
      window: "15s",
      containers: containers.map(({ name, cpu, memory }) => ({
        name,
        usage: { cpu: `${cpu?.usageNanoCores ?? 0}n`, memory: String(memory?.workingSetBytes ?? 0) },
      })),
    }));
}

async function kubeletSummary(): Promise<Summary> {
  const url = `https://${NODE.NODE_IP}:10250/stats/summary?only_cpu_and_memory=true`;
  const answer = await new Promise<string>((resolve, reject) => {
    // The kubelet's certificate is its own.
    const asked = request(url, { rejectUnauthorized: false }, (response) => resolve(text(response)));
    asked.once("error", reject).end();
  });
  return JSON.parse(answer);
}
