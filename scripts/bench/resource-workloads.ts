import { batchOf } from "./load-resources.ts";
import { nextNumber } from "./sample-contact.ts";
import { SAMPLE_RESOURCES, type SampleResource } from "./sample-resources.ts";
import { BATCH_CONNECTIONS, CONNECTIONS, PAGE_SIZE, type Workload } from "./workloads.ts";

/** The same four lines for each of them. */
export const resourceWorkloads: Workload[] = SAMPLE_RESOURCES.flatMap((resource) => {
  const { name, title, path, count, batchSize } = resource;
  const idOf = () => 1 + Math.floor(Math.random() * count);
  const line = (kind: string, shown: string, request: Workload["request"]): Workload => ({
    name: `${name}-${kind}`,
    title: `${shown}, ${title}`,
    connections: kind === "batch" ? BATCH_CONNECTIONS : CONNECTIONS,
    goal: 0.35,
    request,
  });
  return [
    line("get", "GET one", () => ({ method: "GET", path: `/api/${path}/${idOf()}` })),
    line("page", `GET page of ${PAGE_SIZE}`, () => ({
      method: "GET",
      path: `/api/${path}?limit=${PAGE_SIZE}&orderBy=id`,
    })),
    line("patch", "PATCH name", () => ({
      method: "PATCH",
      path: `/api/${path}/${idOf()}/edit`,
      body: JSON.stringify({ name: `Changed ${nextNumber()}` }),
    })),
    line("batch", `POST ${batchSize}`, () => ({
      method: "POST",
      path: `/api/${path}/batch/new`,
      body: JSON.stringify(batchOf(resource)),
    })),
  ];
});

/** The resources with wanted lines. */
export function wantedResources(isWanted: (name: string) => boolean): SampleResource[] {
  return SAMPLE_RESOURCES.filter((resource) =>
    resourceWorkloads.some(({ name }) => name.startsWith(`${resource.name}-`) && isWanted(name)),
  );
}
