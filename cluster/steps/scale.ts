import { eventually } from "@tidings/testkit/eventually";
import { kubectl, pods, untilReady } from "../kubectl.ts";
import { RELEASE, upgrade } from "../release.ts";
import type { Step } from "../step.ts";
import { underLoad } from "../under-load.ts";

const REPLICAS = 2;
const SCALED = 3;
/** The share of the requested CPU of a gateway, which is little here: any real load is above it. */
const CPU_PERCENT = 60;

/** The autoscaler sees the use of CPU and adds gateways; without it there are as many as before. */
export const scaleSteps: Step[] = [
  {
    name: "scale",
    run: async (world) => [
      await underLoad(world, {
        what: "scale gateways out by CPU",
        clients: 12,
        pauseMs: 5,
        act: async () => {
          await upgrade(world.installation, [
            "gateway.autoscaling.enabled=true",
            `gateway.autoscaling.minReplicas=${REPLICAS}`,
            `gateway.autoscaling.maxReplicas=${SCALED}`,
            `gateway.autoscaling.cpuPercent=${CPU_PERCENT}`,
          ]);
          await eventually(
            async () => {
              const count = (await pods("gateway")).filter(({ isReady }) => isReady).length;
              if (count < SCALED) throw new Error(`${count} gateways are ready, the load asks for ${SCALED}`);
            },
            { timeoutMs: 180_000, intervalMs: 1_000 },
          );
          const use = "--output=jsonpath={.status.currentMetrics[0].resource.current.averageUtilization}";
          const percent = await kubectl("get", "hpa", `${RELEASE}-gateway`, use);
          return `CPU at ${percent} % of the request, ${SCALED} gateways`;
        },
      }),
      await underLoad(world, {
        what: "scale gateways in",
        act: async () => {
          await upgrade(world.installation);
          await untilReady("gateway", REPLICAS);
        },
      }),
    ],
  },
];
